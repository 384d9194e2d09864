from django.db import migrations, models


class Migration(migrations.Migration):
    """The runs of a project, for its page of metric names."""

    dependencies = [("runs", "0001_initial")]

    operations = [
        migrations.AddIndex("run", models.Index(fields=["project", "id"], name="ix_run_project")),
    ]

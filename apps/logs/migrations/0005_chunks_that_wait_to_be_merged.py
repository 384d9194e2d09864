from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("logs", "0004_bodies_may_be_in_a_bucket")]

    operations = [
        migrations.AddIndex(
            model_name="chunk",
            index=models.Index(
                condition=models.Q(("merged", False)),
                fields=["run_id", "attempt", "node", "first_ns"],
                name="ix_chunk_to_merge",
            ),
        ),
    ]

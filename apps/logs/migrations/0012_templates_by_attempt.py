from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("logs", "0011_a_sieve_for_each_chunk"),
    ]

    operations = [
        migrations.RemoveField(
            model_name="ordinarytemplate",
            name="last_run_id",
        ),
        migrations.AddField(
            model_name="template",
            name="attempt",
            field=models.IntegerField(default=0),
        ),
    ]

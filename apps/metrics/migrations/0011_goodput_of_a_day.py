from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("metrics", "0010_patterns_for_numbers_of_ranks")]

    operations = [
        migrations.AddField(
            model_name="glance",
            name="goodput",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="glance",
            name="goodput_ns",
            field=models.BigIntegerField(null=True),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingest", "0005_followed_files"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="analysis",
            name="ix_analysis_due",
        ),
        migrations.AddIndex(
            model_name="analysis",
            index=models.Index(
                models.OrderBy(models.F("analysed_ns"), nulls_first=True),
                condition=models.Q(
                    models.Q(("written", models.F("seen")), _negated=True),
                    ("again_at_ns__isnull", False),
                    _connector="OR",
                ),
                name="ix_analysis_due",
            ),
        ),
    ]

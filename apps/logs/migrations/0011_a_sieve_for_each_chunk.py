from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("logs", "0010_templates")]

    operations = [
        migrations.AddField("chunk", "sieve", models.BinaryField(db_default=b"")),
        migrations.RunSQL(
            # Half random bits: compression would only cost.
            "ALTER TABLE logs_chunk ALTER COLUMN sieve SET STORAGE EXTERNAL",
            "ALTER TABLE logs_chunk ALTER COLUMN sieve SET STORAGE EXTENDED",
        ),
    ]

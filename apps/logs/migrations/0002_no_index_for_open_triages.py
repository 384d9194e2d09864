from django.db import migrations


class Migration(migrations.Migration):
    """An attempt is looked at again by its appointment in ingest_analysis, not by this index."""

    dependencies = [("logs", "0001_tables")]

    operations = [migrations.RemoveIndex(model_name="triage", name="ix_triage_open")]

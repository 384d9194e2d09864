from django.db import migrations


class Migration(migrations.Migration):
    """Nothing ever wrote this table; ALERT_RECIPIENTS and the users' addresses say who gets mail."""

    dependencies = [("alerts", "0001_tables")]

    operations = [migrations.DeleteModel("Recipient")]

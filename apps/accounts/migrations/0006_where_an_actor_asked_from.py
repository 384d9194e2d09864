from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_audit_by_actor_and_time")]

    operations = [
        # With a default of the database: processes of the version before write meanwhile.
        migrations.AddField(
            model_name="auditentry",
            name="address",
            field=models.CharField(blank=True, db_default="", max_length=64),
        ),
    ]

import django.contrib.postgres.indexes
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Built beside the writers: every change of state adds an entry.
    atomic = False
    dependencies = [("accounts", "0004_seals_of_the_audit_trail")]

    operations = [
        AddIndexConcurrently(
            model_name="auditentry",
            index=models.Index(fields=["actor", "-id"], name="ix_audit_actor"),
        ),
        AddIndexConcurrently(
            model_name="auditentry",
            index=django.contrib.postgres.indexes.BrinIndex(fields=["at_ns"], name="ix_audit_at"),
        ),
    ]

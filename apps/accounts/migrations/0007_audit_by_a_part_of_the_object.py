from django.db import DatabaseError, migrations

# As `object__icontains` asks. Not of the model: a server without pg_trgm, or a user who may not add
# it, goes on without, and such a filter reads more of the table.
INDEX = """
CREATE INDEX CONCURRENTLY IF NOT EXISTS ix_audit_object
  ON accounts_auditentry USING gin (UPPER(object::text) gin_trgm_ops)
"""


def add(apps, schema_editor):
    try:
        schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except DatabaseError:
        return
    schema_editor.execute(INDEX)


def remove(apps, schema_editor):
    schema_editor.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_audit_object")


class Migration(migrations.Migration):
    # Built beside the writers: every change of state adds an entry.
    atomic = False
    dependencies = [("accounts", "0006_where_an_actor_asked_from")]

    operations = [migrations.RunPython(add, remove)]

from django.db import migrations, models

# A row changes with every body: room on its page lets Postgres leave the indexes alone.
ROOM = "ALTER TABLE runs_contact SET (fillfactor = 70)"
MOVE = """
    INSERT INTO runs_contact (run_id, heard_ns, contacts, watched, rhythm, told)
    SELECT id, (extract(epoch FROM last_contact_at) * 1000000000)::bigint, 1,
           last_contact_at > now() - interval '2 days', '{}', '{}'
      FROM runs_run WHERE last_contact_at IS NOT NULL
"""
BACK = """
    UPDATE runs_run SET last_contact_at = to_timestamp(c.heard_ns / 1e9)
      FROM runs_contact c WHERE c.run_id = runs_run.id
"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_what_each_attempt_said")]

    operations = [
        migrations.CreateModel(
            name="Contact",
            fields=[
                ("run_id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("heard_ns", models.BigIntegerField()),
                ("contacts", models.BigIntegerField(default=1)),
                ("watched", models.BooleanField(default=True)),
                ("rhythm", models.JSONField(default=dict)),
                ("limit_s", models.FloatField(null=True)),
                ("usual_s", models.FloatField(null=True)),
                ("told", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("watched", True)), fields=["run_id"], name="ix_watched"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Watch",
            fields=[
                ("id", models.SmallIntegerField(primary_key=True, serialize=False)),
                ("looked_ns", models.BigIntegerField()),
                ("resumed_ns", models.BigIntegerField()),
                ("judged_ns", models.BigIntegerField()),
            ],
        ),
        migrations.RunSQL(ROOM, "ALTER TABLE runs_contact RESET (fillfactor)"),
        migrations.RunSQL(MOVE, BACK),
        migrations.RemoveField(model_name="run", name="last_contact_at"),
    ]

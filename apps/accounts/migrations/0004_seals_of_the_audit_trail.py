from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_when_a_token_was_used_and_ends")]

    operations = [
        migrations.CreateModel(
            name="AuditSeal",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                ("last_id", models.BigIntegerField()),
                ("rows", models.IntegerField()),
                ("digest", models.CharField(max_length=64)),
                ("sealed_at_ns", models.BigIntegerField()),
                ("checked_at_ns", models.BigIntegerField()),
                ("broken", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["checked_at_ns", "number"], name="ix_seal_checked"),
                    models.Index(
                        fields=["number"], condition=models.Q(broken=True), name="ix_seal_broken"
                    ),
                ],
            },
        ),
    ]

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Built beside the writers: placements are added with every batch of lines.
    atomic = False
    dependencies = [("runs", "0006_contacts")]

    operations = [
        AddIndexConcurrently(
            model_name="placement",
            index=models.Index(fields=["node", "run_id", "attempt"], name="ix_placement_node"),
        ),
    ]

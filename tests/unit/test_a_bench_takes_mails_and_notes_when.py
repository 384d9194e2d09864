"""workers.benches.smtpsink and the report of `bench alerts`."""

import smtplib

from workers.benches.alerts import Latency, report
from workers.benches.smtpsink import listening

MAIL = "X-Run: run-7\r\nSubject: x\r\n\r\n..a line with a dot\r\n"


def test_each_run_is_noted_once_and_every_mail_is_counted():
    with listening() as sink:
        with smtplib.SMTP("127.0.0.1", sink.port) as client:
            for _ in range(2):
                client.sendmail("a@example.org", ["b@example.org"], MAIL)
        assert (list(sink.taken_s), sink.messages) == (["run-7"], 2)


def test_the_report_tells_the_middle_and_the_slow_end():
    some = [Latency(0.5, seconds) for seconds in (1.0, 2.0, 3.0)]
    told = report({"one loss": some, "and a loss per rank": []}, mails=3)
    assert told.figures == {"alarms": 3, "p50_s": 2.0, "p95_s": 2.9, "max_s": 3.0, "mails": 3}
    assert [row[0] for row in told.rows] == ["one loss", "all"]

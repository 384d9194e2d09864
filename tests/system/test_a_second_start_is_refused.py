"""One home, one supervisor; one port, one program. The message says what to do."""

import re
import socket


def test_a_second_supervisor_on_the_same_home_names_the_first(stub, start):
    second = start(stub.home)

    line = second.line("already runs here")

    assert second.wait() == 1
    assert f"(pid {stub.pid}, http://127.0.0.1:{stub.port})" in line
    assert f"stop it with `kill {stub.pid}`" in line


def test_a_taken_port_is_named_with_a_free_one(tmp_path, start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = start(tmp_path, PORT=str(port))
        line = refused.line("is taken")

    assert refused.wait() == 1
    assert re.search(rf"PORT: port {port} is taken by another program; try PORT=\d+$", line)


def test_a_port_that_is_no_number_is_refused(tmp_path, start):
    refused = start(tmp_path, PORT="eighty")

    assert "is not a port; use a number from 1 to 65534" in refused.line("PORT")
    assert refused.wait() == 1

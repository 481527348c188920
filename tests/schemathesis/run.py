"""Checks a running server against its OpenAPI document with every phase of Schemathesis, including stateful links.

    python3 tests/schemathesis/run.py [--binary target/release/vestibule] [--max-examples 30] [--seed 1]

Needs `st` of the PyPI package `schemathesis` beside the Python that runs this, or on the path.
"""

import argparse
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import uuid

HERE = pathlib.Path(__file__).resolve().parent
PLATFORM_KEY = "schemathesis"
PERMISSIONS = (
    "view_properties modify_properties view_guides modify_guides modify_tasks manage_organization view_reservations "
    "view_tasks view_devices view_workflows view_analytics"
).split()


class Server:
    """A server with its own database, which has an organization with a record of several kinds."""

    def __init__(self, binary, directory):
        limits = ["--rate-limit-per-minute", "0", "--rate-limit-per-second", "0"]
        database = ["--database-url", f"sqlite:{directory}/schemathesis.db"]
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--platform-key", PLATFORM_KEY, *database, *limits]
        self.log = pathlib.Path(directory, "log")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log.open("w"), text=True)
        self.address = self.process.stdout.readline().strip().removeprefix("listening on http://")

    def ask(self, method, path, body):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        headers = {"Authorization": f"Bearer {PLATFORM_KEY}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body), headers)
        response = connection.getresponse()
        answer = json.load(response)
        if response.status >= 300:
            sys.exit(f"{method} {path}: {answer}")
        return answer["data"]

    def key(self):
        organization = f"/platform/v1/organizations/{uuid.uuid4()}"
        self.ask("PUT", organization, {"name": "Casa", "country": "ES", "languages": ["en", "es"]})
        self.ask("POST", f"{organization}/sync", {"records": records()})
        return self.ask("POST", f"{organization}/api-keys", {"name": "st", "permissions": PERMISSIONS})["token"]

    def end(self):
        self.process.terminate()
        return self.process.wait(30)


def records():
    flat = str(uuid.uuid4())
    guest = {"firstName": "Ada", "lastName": "L", "email": "ada@example.com", "phone": None, "language": "en"}
    stay = {"status": "confirmed", "channel": "direct", "bookedAt": "2026-11-01T10:00:00Z", "guest": guest}
    of_the_flat = [
        ("reservation", {**stay, "checkIn": "2026-12-11", "checkOut": "2026-12-15"}),
        ("task", {"title": "Linen", "status": "open"}),
        ("device", {"name": "Door", "deviceType": "lock", "vendor": "acme", "isOnline": True}),
        ("review", {"source": "pms", "submittedAt": "2026-11-01T10:00:00Z", "overallRating": 5}),
    ]
    first = {"kind": "property", "id": flat, "data": {"name": "Flat", "timezone": "Europe/Madrid", "country": "ES"}}
    others = [{"kind": kind, "id": str(uuid.uuid4()), "data": {"propertyId": flat, **data}} for kind, data in of_the_flat]
    return [first, *others]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/release/vestibule")
    parser.add_argument("--max-examples", default="30", help="test cases an operation and phase")
    parser.add_argument("--seed", help="repeats a run")
    given = parser.parse_args()
    beside = pathlib.Path(sys.executable).with_name("st")
    program = str(beside) if beside.exists() else shutil.which("st")
    if program is None:
        sys.exit("there is no `st`: pip install schemathesis")
    with tempfile.TemporaryDirectory() as directory:
        server = Server(given.binary, directory)
        document = f"http://{server.address}/api/v1/openapi.json"
        command = [program, "--config-file", HERE / "schemathesis.toml", "run", document, "--no-color", "--continue-on-failure"]
        command += ["--max-examples", given.max_examples, "--header", f"Authorization: Bearer {server.key()}"]
        command += ["--generation-database", "none", *(["--seed", given.seed] if given.seed else [])]
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "hooks", "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
        outcome = subprocess.run(command, env=environment, cwd=directory).returncode
        ended, log = server.end(), server.log.read_text()
        failed = [line for line in log.splitlines() if '"ERROR"' in line or "panicked" in line]
        if ended != 0 or failed:
            sys.exit("\n".join([f"the server ended with {ended}", *failed]))
        sys.exit(outcome)


if __name__ == "__main__":
    main()

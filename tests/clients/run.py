"""Checks the OpenAPI documents with the tools of client authors: two linters and five generators. Then uses two of the generated clients.

What the generators make is compiled: TypeScript by tsc, Python by importing every module.

    python3 tests/clients/run.py [--binary target/release/vestibule] [--lint]

Needs npm, and for all but --lint also Java and Python's venv; without npm it says what it leaves out, which VESTIBULE_REQUIRE_NPM=1
makes a failure. What it fetches and makes stays under target/clients.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import uuid
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLACE = ROOT / "target" / "clients"
INTERFACES = ("public", "platform", "guest")
PYTHON_TOOLS = (
    "openapi-python-client==0.29.1",
    "openapi-generator-cli==7.26.0",
    "ruff==0.17.6",
    "httpx==0.28.1",
    "attrs==26.1.0",
    "python-dateutil==4.0.0",
    "pydantic==2.14.4",
    "urllib3==2.8.0",
)
PLATFORM_KEY = "clients"
PERMISSIONS = ["view_properties", "modify_properties", "modify_tasks"]


def run(*command, **options):
    """Runs a command and returns its standard output. If it fails, exits with its whole output."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def together(commands, **options):
    """Runs commands, two at a time. Exits with the output of the first command that fails."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(run, *command, **options) for command in commands]:
            done.result()


def npm_tools():
    PLACE.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "package.json", PLACE)
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock"]
    if not shutil.which("npm") or subprocess.run(install, cwd=PLACE, check=False).returncode != 0:
        print("LEFT OUT: linters and generators of clients, because npm is not found or could not fetch them")
        sys.exit(1 if os.environ.get("VESTIBULE_REQUIRE_NPM") == "1" else 0)
    return PLACE / "node_modules" / ".bin"


def python_tools():
    place = PLACE / "python"
    installed = place / "installed"
    if not installed.exists() or installed.read_text() != str(PYTHON_TOOLS):
        venv.create(place, with_pip=True)
        run(place / "bin" / "pip", "install", "--quiet", *PYTHON_TOOLS)
        installed.write_text(str(PYTHON_TOOLS))
    return place / "bin"


def lint(tools, document):
    """Exits unless both linters report neither errors nor warnings."""
    told = json.loads(run(tools / "redocly", "lint", document, "--config", HERE / "redocly.yaml", "--format", "json"))
    if told["problems"]:
        sys.exit("\n".join(f"{document.name}: {problem['ruleId']}: {problem['message']}" for problem in told["problems"]))
    run(tools / "spectral", "lint", document, "--ruleset", HERE / "spectral.yaml", "--fail-severity", "warn")


def generate(npm, python, interface, document):
    """Generates a client with each generator, and compiles it."""
    made = PLACE / "made" / interface
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    path = {"PATH": f"{python}:{os.environ['PATH']}"}
    openapi_generator = (python / "openapi-generator-cli", "generate", "-i", document)
    together(
        [
            (*openapi_generator, "-g", "python", "-o", made / "python"),
            (*openapi_generator, "-g", "typescript-fetch", "-o", made / "typescript-fetch"),
            (npm / "openapi-typescript", document, "-o", made / "schema.ts"),
            (npm / "openapi-ts", "-i", document, "-o", made / "hey"),
            (python / "openapi-python-client", "generate", "--meta", "none", "--path", document, "--output-path", made / "client"),
        ],
        env={**os.environ, **path},
    )
    options = {"strict": True, "noEmit": True, "target": "es2022", "module": "esnext", "moduleResolution": "bundler", "skipLibCheck": True}
    config = {
        "compilerOptions": {**options, "lib": ["es2022", "dom"]},
        "include": ["schema.ts", "hey/**/*.ts", "typescript-fetch/**/*.ts"],
    }
    (made / "tsconfig.json").write_text(json.dumps(config))
    import_all = (python / "python", "-c", IMPORT_ALL)
    together([(npm / "tsc", "-p", made / "tsconfig.json"), (*import_all, made, "client"), (*import_all, made / "python", "openapi_client")])


IMPORT_ALL = """
import importlib, pkgutil, sys

place, name = sys.argv[1:]
sys.path.insert(0, place)
package = importlib.import_module(name)
names = [module.name for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
for name in names:
    importlib.import_module(name)
assert len(names) > 20, names
"""


def ask(base, method, path, body):
    headers = {"Authorization": f"Bearer {PLATFORM_KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{base}/platform/v1{path}", json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["data"]


USE_PYTHON = """
import sys
from client import AuthenticatedClient
from client.api.portals import create_portal, list_portals
from client.models import CreatePortalBody

base, token = sys.argv[1:]
api = AuthenticatedClient(base_url=base, token=token, raise_on_unexpected_status=True)
made = create_portal.sync(client=api, body=CreatePortalBody(name="From Python"))
assert made.data.name == "From Python", made
listed = list_portals.sync(client=api)
assert [portal.name for portal in listed.data] == ["From Python"], listed
refused = create_portal.sync_detailed(client=api, body=CreatePortalBody(name=""))
assert refused.status_code == 400 and refused.parsed.error.details.issues[0].path == ["name"], refused
"""

USE_TYPESCRIPT = """
import { client } from "./hey/client.gen";
import { createPrecheckStep, listPortals, listPrecheckSteps } from "./hey/sdk.gen";

const [base, token] = process.argv.slice(2);
client.setConfig({ baseUrl: base, auth: token });
const portals = await listPortals();
if (portals.data?.data[0]?.name !== "From Python") throw new Error(JSON.stringify(portals));
const made = await createPrecheckStep({ body: { stepType: "your_details", nickname: "From TypeScript" } });
if (made.data?.data.stepType !== "your_details") throw new Error(JSON.stringify(made.error));
const steps = await listPrecheckSteps();
if (steps.data?.data.length !== 1) throw new Error(JSON.stringify(steps));
"""


@contextlib.contextmanager
def served(binary):
    """Starts a server with an empty database and yields its address."""
    with tempfile.TemporaryDirectory() as directory:
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--platform-key", PLATFORM_KEY, "--database-url", f"sqlite:{directory}/clients.db"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            yield server.stdout.readline().strip().removeprefix("listening on ")
        finally:
            server.terminate()
            server.wait(timeout=30)


def use(npm, python, base):
    """The Python client creates a portal; the TypeScript client reads it and creates a step."""
    made = PLACE / "made" / "public"
    organization = f"/organizations/{uuid.uuid4()}"
    ask(base, "PUT", organization, {"name": "Clients"})
    token = ask(base, "POST", f"{organization}/api-keys", {"name": "clients", "permissions": PERMISSIONS})["token"]
    run(python / "python", "-c", USE_PYTHON, f"{base}/api/v1", token, cwd=made)
    (made / "use.ts").write_text(USE_TYPESCRIPT)
    run(npm / "esbuild", "use.ts", "--bundle", "--platform=node", "--format=esm", "--outfile=use.mjs", "--log-level=error", cwd=made)
    run("node", "use.mjs", f"{base}/api/v1", token, cwd=made)


def without_webhooks(base, interface):
    """Returns the document for generators: without webhooks, because some generators mistake them for operations."""
    path = "/api/v1" if interface == "public" else f"/{interface}/v1"
    with urllib.request.urlopen(f"{base}{path}/openapi.json?webhooks=false", timeout=30) as answer:
        return answer.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "target" / "release" / "vestibule"))
    parser.add_argument("--lint", action="store_true", help="the linters alone")
    options = parser.parse_args()
    npm = npm_tools()
    python = None if options.lint else python_tools()
    with contextlib.nullcontext() if options.lint else served(options.binary) as base:
        for interface in INTERFACES:
            document = PLACE / f"{interface}.json"
            document.write_text(run(options.binary, "openapi", "--interface", interface))
            lint(npm, document)
            if base:
                document.write_bytes(without_webhooks(base, interface))
                generate(npm, python, interface, document)
            print(f"{interface}: {'five clients of it compile' if base else 'reads well'}", flush=True)
        if base:
            use(npm, python, base)
            print("a client in Python and one in TypeScript do what they say")


if __name__ == "__main__":
    main()

# The project's commands. `just` without a recipe lists them.

default:
    @just --list

# Serves the demo organization.
demo *flags:
    cargo run --release -- demo {{ flags }}

# Serves on ./vestibule.db.
serve *flags:
    cargo run --release -- serve {{ flags }}

# Runs all checks that must pass before a change is merged.
check: format lint test

format:
    cargo fmt --all --check

lint:
    cargo clippy --workspace --all-targets -- -D warnings

test:
    cargo test --workspace

# Runs the tests that take too long for `test`: kills over ten thousand requests, slow bodies, and ten minutes of mixed load, whose memory is printed.
soak seconds="600" requests="10000":
    VESTIBULE_RELIABILITY_REQUESTS={{ requests }} cargo test --release --test running -- --nocapture reliability::kills
    VESTIBULE_SOAK_SECONDS={{ seconds }} cargo test --release --test running -- --nocapture --ignored --exact reliability::slow_clients::bodies_sent_byte_by_byte_time_out reliability::slow_clients::forms_sent_byte_by_byte_time_out reliability::soak::memory_stays_stable_under_sustained_load

# Replaces, kills and freezes the primary of two servers, and removes it with its machine, while two nodes write. Prints how long no write is acknowledged and which writes are lost. Needs Debian's patroni and etcd-server.
failover rounds="3":
    VESTIBULE_REQUIRE_PATRONI=1 VESTIBULE_FAILOVER_ROUNDS={{ rounds }} cargo test --release --test running -- --nocapture --ignored --exact reliability::successor::every_kind_of_primary_failure_is_survived

# Tests organizations on a coordinator and two workers: every statement, a partly distributed database, and crashes under load. Needs PostgreSQL's extension Citus.
citus crashes="15":
    VESTIBULE_REQUIRE_CITUS=1 VESTIBULE_CITUS_CRASHES={{ crashes }} cargo test --test running -- --nocapture citus:: one_organization::

# Upgrades nodes of an older version (a commit) to this one, on one PostgreSQL. The load begins before the migration and ends after the last old node. Prints which answers clients get and which writes are lost.
upgrade from:
    mkdir -p target/upgrade/source && git archive {{ from }} | tar x -C target/upgrade/source
    cargo build --release --locked --manifest-path target/upgrade/source/Cargo.toml --target-dir target/upgrade/build
    VESTIBULE_UPGRADE_FROM="$PWD/target/upgrade/build/release/vestibule" cargo test --release --test running -- --nocapture --ignored --exact reliability::upgrade::a_rolling_upgrade_loses_no_writes

# Attacks a server of its own, on the loopback address, with hostile clients, hostile organizations, kills and shutdowns. Prints what another organization notices.
attack seconds="600" *flags:
    cargo build --release
    cargo run --release -p bench --bin attack -- --seconds {{ seconds }} {{ flags }}

# Prints the benchmark's table, measured on this machine.
bench:
    cargo build --release && cargo run --release -p bench

# Measures time and size of every page of the console, in an organization of the size of a city.
console-sizes:
    cargo build --release && cargo run --release -p bench -- console-sizes

# Tests the guest's page in Chromium, and its accessibility with axe, which is downloaded into target/.
browser:
    VESTIBULE_REQUIRE_CHROMIUM=1 VESTIBULE_AXE="$(.ci/axe)" cargo test --test pages -- browser::

# Takes pictures of the demo's guest page in Chromium, on each day of a stay, into docs/images.
screenshots:
    VESTIBULE_REQUIRE_CHROMIUM=1 cargo test --test pages -- --ignored --exact browser::screenshots::screenshots_of_the_guest_page_are_written

# Takes pictures of the demo's console in Chromium, into docs/images.
console-pictures:
    VESTIBULE_REQUIRE_CHROMIUM=1 cargo test --test pages -- --ignored --exact browser::screenshots::screenshots_of_the_console_are_written

# Regenerates openapi.json. Run it after a change of an operation.
openapi:
    cargo run -- openapi > openapi.json

# Checks the OpenAPI documents with linters and generators of clients, and uses two of the generated clients.
clients *flags:
    cargo build --release
    python3 tests/clients/run.py {{ flags }}

# Tests the published SDKs of the tools' protocol and a published OpenID provider, with people in Chromium. Downloads the packages into target/.
connect:
    cargo build
    VESTIBULE_REQUIRE_CONNECT=1 .ci/connect

# Checks the licences and sources of all dependencies.
deny:
    cargo deny check licenses bans sources

# Tests the server against its OpenAPI document with Schemathesis, in all phases including stateful links.
schemathesis examples="30":
    cargo build --release
    test -x target/schemathesis/bin/st || (python3 -m venv target/schemathesis && target/schemathesis/bin/pip install --quiet schemathesis==4.32.5)
    target/schemathesis/bin/python tests/schemathesis/run.py --max-examples {{ examples }}

# Tests the tool interface with the protocol's official conformance suite, which is downloaded into target/.
mcp-conformance:
    cargo build
    VESTIBULE_REQUIRE_MCP_CONFORMANCE=1 .ci/mcp-conformance

# Regenerates data/icons.tsv, the drawings of the icons that data/icons.json names.
icons version="1.62.0":
    mkdir -p target/icons && cd target/icons && npm pack --silent lucide-static@{{ version }} && tar xzf lucide-static-{{ version }}.tgz
    python3 data/icons.py target/icons/package/icons data/icons.tsv

# The commands people type. `just` lists them.

default:
    @just --list

# Serve the demo organization.
demo *flags:
    cargo run --release -- demo {{ flags }}

# Serve on ./vestibule.db.
serve *flags:
    cargo run --release -- serve {{ flags }}

# Everything that must hold before a change lands.
check: format lint test

format:
    cargo fmt --all --check

lint:
    cargo clippy --workspace --all-targets -- -D warnings

test:
    cargo test --workspace

# Ten minutes of mixed load with memory printed, kills over ten thousand requests, slow bodies: what is too long for `test`.
soak seconds="600" requests="10000":
    VESTIBULE_RELIABILITY_REQUESTS={{ requests }} cargo test --release --test it -- --nocapture reliability::kills
    VESTIBULE_SOAK_SECONDS={{ seconds }} cargo test --release --test it -- --nocapture --ignored --exact reliability::slow_clients::bodies_sent_byte_by_byte_time_out reliability::slow_clients::forms_sent_byte_by_byte_time_out reliability::soak::memory_stays_stable_under_sustained_load

# A primary that is replaced, killed, frozen and lost with its machine while two nodes write: how long nothing is acknowledged, what is lost. Needs Debian's patroni and etcd-server.
failover rounds="3":
    VESTIBULE_REQUIRE_PATRONI=1 VESTIBULE_FAILOVER_ROUNDS={{ rounds }} cargo test --release --test it -- --nocapture --ignored --exact reliability::successor::every_kind_of_primary_failure_is_survived

# Organizations spread over a coordinator and two workers: every statement, half a database, and crashes under load. Needs PostgreSQL's extension Citus.
citus crashes="15":
    VESTIBULE_REQUIRE_CITUS=1 VESTIBULE_CITUS_CRASHES={{ crashes }} cargo test --test it -- --nocapture citus:: one_organization::

# Nodes of an older version (a commit) and of this one on one PostgreSQL, under load from before the migration until the last old one has gone: what clients notice, what is lost.
upgrade from:
    mkdir -p target/upgrade/source && git archive {{ from }} | tar x -C target/upgrade/source
    cargo build --release --locked --manifest-path target/upgrade/source/Cargo.toml --target-dir target/upgrade/build
    VESTIBULE_UPGRADE_FROM="$PWD/target/upgrade/build/release/vestibule" cargo test --release --test it -- --nocapture --ignored --exact reliability::upgrade::a_rolling_upgrade_loses_no_writes

# Hostile clients, neighbours and ends, on a server of its own, on loopback alone: what a victim beside them notices.
attack seconds="600" *flags:
    cargo build --release
    cargo run --release -p bench --bin attack -- --seconds {{ seconds }} {{ flags }}

# The benchmark's table, on this machine.
bench:
    cargo build --release && cargo run --release -p bench

# Every page of the console in an organization of the size of a city: how long it takes, how large it is.
console-sizes:
    cargo build --release && cargo run --release -p bench -- console-sizes

# The guest's page in Chromium, judged by axe, which is fetched into target/.
browser:
    VESTIBULE_REQUIRE_CHROMIUM=1 VESTIBULE_AXE="$(.ci/axe)" cargo test --test it -- browser::

# Pictures of the guest's page, on each day of a stay, into docs/images: of the demo, by Chromium.
screenshots:
    VESTIBULE_REQUIRE_CHROMIUM=1 cargo test --test it -- --ignored --exact browser::screenshots::screenshots_of_the_guest_page_are_written

# Pictures of the console into docs/images: of the demo, by Chromium.
console-pictures:
    VESTIBULE_REQUIRE_CHROMIUM=1 cargo test --test it -- --ignored --exact browser::screenshots::screenshots_of_the_console_are_written

# Write openapi.json anew after an operation changed.
openapi:
    cargo run -- openapi > openapi.json

# What makers of clients make of the OpenAPI documents: linters, generators, two of their clients in use.
clients *flags:
    cargo build --release
    python3 tests/clients/run.py {{ flags }}

# Published assistants and a published OpenID provider, by people in Chromium; the packages are fetched into target/.
connect:
    cargo build
    VESTIBULE_REQUIRE_CONNECT=1 .ci/connect

# What is linked in, and under which licences.
deny:
    cargo deny check licenses bans sources

# The server against the document it serves, by Schemathesis: every phase, stateful links included.
schemathesis examples="30":
    cargo build --release
    test -x target/schemathesis/bin/st || (python3 -m venv target/schemathesis && target/schemathesis/bin/pip install --quiet schemathesis==4.32.5)
    target/schemathesis/bin/python tests/schemathesis/run.py --max-examples {{ examples }}

# The tool interface of the demo by the official conformance suite, which is fetched into target/.
mcp-conformance:
    cargo build
    VESTIBULE_REQUIRE_MCP_CONFORMANCE=1 .ci/mcp-conformance

# Write data/icons.tsv anew: the drawings of the icons that data/icons.json names.
icons version="1.62.0":
    mkdir -p target/icons && cd target/icons && npm pack --silent lucide-static@{{ version }} && tar xzf lucide-static-{{ version }}.tgz
    python3 data/icons.py target/icons/package/icons data/icons.tsv

//! Tests of secrets that an operator sets by flag, variable or file. Tests of two platform keys
//! that are both valid, so that an operator can replace a key.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use test_support::server_process::{ServerProcess, output_of};
use test_support::{ApiResponse, App, PLATFORM_KEY, new_id, on_both};

/// The environment variables of all flags that contain a secret.
const SECRETS: [&str; 9] = [
    "VESTIBULE_DATABASE_DIRECT_URL",
    "VESTIBULE_DATABASE_URL",
    "VESTIBULE_DEVICE_CONNECTOR_KEY",
    "VESTIBULE_OIDC_CLIENT_SECRET",
    "VESTIBULE_PLATFORM_KEY",
    "VESTIBULE_REDIS_URL",
    "VESTIBULE_REPLICA_URL",
    "VESTIBULE_STOCK_PHOTOS_KEY",
    "VESTIBULE_TRANSLATOR_KEY",
];

/// The directory in which a test runs the binary. Of the variables that begin with `VESTIBULE_`,
/// the binary gets only those that the test sets.
struct WorkingDirectory(tempfile::TempDir);

impl WorkingDirectory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, arguments: &[&str], environment: &[(&str, &Path)]) -> Command {
        let mut command = Command::new(test_support::program());
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("VESTIBULE_"))
        {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .envs(environment.iter().copied())
            .current_dir(self.0.path());
        command
    }

    /// Runs `vestibule` in the directory until it ends.
    fn run(&self, arguments: &[&str], environment: &[(&str, &Path)]) -> Output {
        output_of(&mut self.command(arguments, environment))
    }

    /// Starts a server that must refuse to start. Returns its error output.
    #[track_caller]
    fn refusal(&self, environment: &[(&str, &Path)]) -> String {
        let output = self.run(&["serve", "--listen", "127.0.0.1:0"], environment);
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    fn serve(&self, flags: &[&str], environment: &[(&str, &Path)]) -> SecretServer {
        let mut command = self.command(
            &[&["serve", "--listen", "127.0.0.1:0"], flags].concat(),
            environment,
        );
        SecretServer(ServerProcess::start(&mut command))
    }
}

struct SecretServer(ServerProcess);

impl SecretServer {
    /// Tries these platform keys one by one. Returns, for each key, whether the server accepts it.
    async fn accepts(&self, keys: &[&str]) -> Vec<bool> {
        let mut let_in = Vec::new();
        for key in keys {
            let request =
                reqwest::Client::new().get(format!("{}/platform/v1/organizations", self.0.base));
            let_in.push(
                ApiResponse::of(request.header("authorization", format!("Bearer {key}")))
                    .await
                    .status
                    == 200,
            );
        }
        let_in
    }
}

on_both!(
    two_platform_keys_are_valid_at_once,
    "--platform-key=pk_next"
);
async fn two_platform_keys_are_valid_at_once(app: App) {
    let path = format!("{}/platform/v1/organizations/{}", app.base, new_id());
    for (key, status) in [
        (PLATFORM_KEY, 404),
        ("pk_next", 404),
        ("pk_nex", 401),
        ("pk_testpk_next", 401),
        ("pk_test pk_next", 401),
        ("", 401),
    ] {
        assert_eq!(
            ApiResponse::of(
                app.http
                    .get(&path)
                    .header("authorization", format!("Bearer {key}"))
            )
            .await
            .status,
            status,
            "{key}"
        );
    }
    ApiResponse::of(app.http.get(&path)).await.error(401);
}

#[tokio::test]
async fn platform_keys_are_read_from_the_lines_of_a_file() {
    let place = WorkingDirectory::new();
    for (text, expected) in [
        ("pk_one", [true, false]),
        ("pk_one\n", [true, false]),
        ("pk_one\r\n", [true, false]),
        ("pk_one\npk_two\n", [true, true]),
        ("pk_one\r\npk_two", [true, true]),
    ] {
        let keys = place.file("keys", text);
        let server = place.serve(
            &[],
            &[
                ("VESTIBULE_PLATFORM_KEY_FILE", &keys),
                ("VESTIBULE_PLATFORM_KEY", Path::new("")),
            ],
        );
        assert_eq!(
            server.accepts(&["pk_one", "pk_two"]).await,
            expected,
            "{text:?}"
        );
        assert_eq!(
            server.accepts(&["pk_one\tpk_two", "pk_"]).await,
            [false, false],
            "{text:?}"
        );
    }
    let keys = place.file("keys", "pk_one\n");
    let server = place.serve(
        &["--platform-key", "pk_flag"],
        &[("VESTIBULE_PLATFORM_KEY_FILE", &keys)],
    );
    assert_eq!(
        server.accepts(&["pk_flag", "pk_one"]).await,
        [true, false],
        "a flag comes first"
    );
    // Only one process can serve a SQLite database, so the test stops the first server before it
    // starts the second.
    drop(server);
    let server = place.serve(
        &[],
        &[("VESTIBULE_PLATFORM_KEY", Path::new("pk_one\npk_two"))],
    );
    assert_eq!(server.accepts(&["pk_one", "pk_two"]).await, [true, true]);
    drop(server);
    let server = place.serve(&[], &[("VESTIBULE_PLATFORM_KEY", Path::new(""))]);
    assert_eq!(server.accepts(&[""]).await, [false], "an empty key is none");
}

#[test]
fn blank_and_surplus_platform_keys_are_refused() {
    let place = WorkingDirectory::new();
    let of_file =
        |text: &str| place.refusal(&[("VESTIBULE_PLATFORM_KEY_FILE", &place.file("keys", text))]);
    assert!(of_file("a\nb\nc\n").contains("3 platform keys"));
    for text in ["a\n\nb\n", "\na\n \nb"] {
        assert!(of_file(text).contains("blank"), "{text:?}");
    }
    let flags = [
        "serve",
        "--platform-key",
        "a",
        "--platform-key",
        "b",
        "--platform-key",
        "c",
    ];
    let output = place.run(&flags, &[]);
    assert!(
        !output.status.success()
            && String::from_utf8_lossy(&output.stderr).contains("3 platform keys")
    );
}

#[test]
fn an_invalid_secret_file_is_refused() {
    let place = WorkingDirectory::new();
    let missing = place.0.path().join("missing");
    let directory = place.0.path().to_owned();
    let (empty, blank, long) = (
        place.file("empty", ""),
        place.file("blank", "\n"),
        place.file("long", "x".repeat(70_000)),
    );
    let binary = place.file("binary", [0xff, 0xfe]);
    let fine = place.file("fine", "secret\n");
    for variable in SECRETS {
        let file_variable = format!("{variable}_FILE");
        for (file, reason) in [
            (&missing, "No such file"),
            (&directory, "directory"),
            (&empty, "is empty"),
            (&blank, "is empty"),
            (&long, "holds more than"),
            (&binary, "UTF-8"),
        ] {
            let reported = place.refusal(&[(&file_variable, file)]);
            assert!(
                reported.contains(&file_variable) && reported.contains(reason),
                "{file_variable} {}: {reported}",
                file.display()
            );
        }
        let reported = place.refusal(&[(&file_variable, &fine), (variable, Path::new("other"))]);
        assert!(
            reported.contains("both set")
                && reported.contains(variable)
                && !reported.contains("other"),
            "{reported}"
        );
    }
}

#[test]
fn every_command_reads_the_database_url_from_a_file() {
    let place = WorkingDirectory::new();
    let url = place.file(
        "url",
        format!("sqlite:{}\n", place.0.path().join("filed.db").display()),
    );
    let environment: &[(&str, &Path)] = &[("VESTIBULE_DATABASE_URL_FILE", &url)];
    assert!(place.run(&["migrate"], environment).status.success());
    assert!(place.0.path().join("filed.db").exists());
    assert!(
        place
            .run(&["backup", "copy.db"], environment)
            .status
            .success()
    );
    assert!(place.0.path().join("copy.db").exists());
    let records = place.file("records", "");
    let id = new_id().to_string();
    assert!(
        place
            .run(
                &["import", "--organization", &id, records.to_str().unwrap()],
                environment
            )
            .status
            .success()
    );
    let elsewhere = format!("sqlite:{}", place.0.path().join("flag.db").display());
    assert!(
        place
            .run(&["migrate", "--database-url", &elsewhere], environment)
            .status
            .success()
    );
    assert!(
        place.0.path().join("flag.db").exists(),
        "a flag comes first"
    );
    assert!(place.run(&["migrate"], &[]).status.success());
    assert!(place.0.path().join("vestibule.db").exists(), "the default");
}

/// The help of every flag that hides its value names a variable that ends in `_FILE`. Every flag
/// that hides its value must be in `SECRETS`.
#[test]
fn every_secret_flag_can_be_given_by_a_file() {
    let command = <vestibule::config::Cli as clap::CommandFactory>::command();
    let mut hidden: Vec<String> = command
        .get_subcommands()
        .flat_map(clap::Command::get_arguments)
        .filter(|flag| flag.is_hide_env_values_set())
        .map(|flag| {
            let variable = flag.get_env().unwrap().to_str().unwrap().to_owned();
            assert!(
                flag.get_help()
                    .unwrap()
                    .to_string()
                    .contains(&format!("{variable}_FILE")),
                "{variable}"
            );
            variable
        })
        .collect();
    hidden.sort();
    hidden.dedup();
    assert_eq!(hidden, SECRETS);
}

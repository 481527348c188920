//! Tests of `vestibule backup`, and of a server that runs on the backup instead of the original
//! database.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;

use test_support::node::Node;
use test_support::s3::Bucket;
use test_support::server_process::wait_for_end;
use test_support::waiting::wait_until;

fn backup(database_url: &str, file: &Path) -> Output {
    Command::new(test_support::program())
        .args(["backup", "--database-url", database_url])
        .arg(file)
        .output()
        .unwrap()
}

fn sqlite(file: &Path) -> String {
    format!("sqlite:{}", file.display())
}

/// Returns the error output of a failed backup.
fn refusal(output: &Output) -> String {
    assert_eq!(
        (output.status.code(), output.stdout.is_empty()),
        (Some(1), true),
        "{output:?}"
    );
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_taken_during_writes_can_replace_the_database() {
    let directory = tempfile::tempdir().unwrap();
    let (served, copy) = (
        directory.path().join("served.db"),
        directory.path().join("copy.db"),
    );
    let node = Arc::new(Node::start(&sqlite(&served), &[]));
    let token = node.key().await;
    let (stop, acknowledged) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(Mutex::new(Vec::<String>::new())),
    );
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (node, stop, acknowledged) = (node.clone(), stop.clone(), acknowledged.clone());
            let api = node.api(&token);
            tokio::spawn(async move {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    let name = format!("Portal {writer}/{number}");
                    api.post_with_key("/portals", &name, json!({ "name": name }))
                        .await
                        .data();
                    acknowledged.lock().unwrap().push(name);
                }
            })
        })
        .collect();
    let written = || acknowledged.lock().unwrap().len();
    let reach = async |count: usize| {
        wait_until("the clients write more portals", async || {
            assert!(
                writers.iter().all(|writer| !writer.is_finished()),
                "a write failed"
            );
            written() >= count
        })
        .await;
    };
    reach(50).await;
    let before = acknowledged.lock().unwrap().clone();
    let created = tokio::task::spawn_blocking({
        let (url, copy) = (sqlite(&served), copy.clone());
        move || backup(&url, &copy)
    });
    let created = created.await.unwrap();
    assert!(created.status.success(), "{created:?}");
    let bytes = std::fs::metadata(&copy).unwrap().len();
    assert_eq!(
        String::from_utf8_lossy(&created.stdout),
        format!("{}: {bytes} bytes\n", copy.display())
    );
    reach(written() + 10).await;
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }

    // A backup reads its whole source, so a backup of the first backup verifies the first backup.
    let again = backup(
        &sqlite(&copy),
        &directory.path().join("copy of the copy.db"),
    );
    assert!(again.status.success(), "{again:?}");
    let restored = Node::start(&sqlite(&copy), &[]);
    assert_eq!(restored.text("/readyz").await, "ready\n");
    let api = restored.api(&token);
    let listed = api.get("/portals").await.data();
    let names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    for name in &before {
        assert!(
            names.contains(&name.as_str()),
            "{name} was acknowledged before"
        );
    }
    // If the backup contains the effect of a request, it also contains the recorded response for
    // the request's idempotency key.
    for name in [&before[0], &before[before.len() - 1]] {
        let replayed = api
            .post_with_key("/portals", name, json!({ "name": name }))
            .await;
        assert_eq!(
            (replayed.status, replayed.header("idempotency-replayed")),
            (201, Some("true")),
            "{name}"
        );
    }
    api.post("/portals", json!({ "name": "Written after the restore" }))
        .await
        .data();
    let mut files = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(
        files.all(|name| !name.starts_with('.')),
        "nothing is left over"
    );
}

#[test]
fn a_failed_backup_reports_an_error_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let (database, file) = (
        sqlite(&directory.path().join("some.db")),
        directory.path().join("copy.db"),
    );
    let created = Command::new(test_support::program())
        .args(["migrate", "--database-url", &database])
        .output()
        .unwrap();
    assert!(created.status.success(), "{created:?}");

    std::fs::write(&file, "precious").unwrap();
    assert!(refusal(&backup(&database, &file)).contains("already exists"));
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    std::fs::remove_file(&file).unwrap();

    assert!(refusal(&backup("postgres://127.0.0.1:1/x", &file)).contains("pg_dump"));
    assert!(refusal(&backup("mysql://x", &file)).contains("sqlite:"));
    let missing = directory.path().join("missing.db");
    assert!(refusal(&backup(&sqlite(&missing), &file)).contains("missing.db"));
    assert!(
        refusal(&backup(&database, Path::new("/no/such/directory/copy.db")))
            .contains("/no/such/directory/copy.db")
    );
    let mut remaining: Vec<String> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    remaining.retain(|name| !name.starts_with("some.db"));
    assert!(remaining.is_empty(), "{remaining:?}");
}

/// Runs `vestibule` with these arguments and returns its output.
fn command(arguments: &[&str]) -> Output {
    Command::new(test_support::program())
        .args(arguments)
        .output()
        .unwrap()
}

fn names_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_backups_under_load_are_restored_with_files() {
    let directory = tempfile::tempdir().unwrap();
    let (served, sets) = (
        directory.path().join("served.db"),
        directory.path().join("sets"),
    );
    let node = Arc::new(Node::start(&sqlite(&served), &[]));
    let token = node.key().await;
    let uploads = directory.path().join("served.db.uploads/org");
    std::fs::create_dir_all(&uploads).unwrap();
    std::fs::write(uploads.join("passport.pdf"), b"scan").unwrap();
    let api = node.api(&token);
    let writing = tokio::spawn(async move {
        for number in 0.. {
            let name = format!("Portal {number}");
            api.post_with_key("/portals", &name, json!({ "name": name }))
                .await
                .data();
        }
    });
    let mut keeper = Command::new(test_support::program())
        .args([
            "backup",
            "--every",
            "300ms",
            "--keep",
            "2",
            "--database-url",
            &sqlite(&served),
        ])
        .arg(&sets)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut seen = std::collections::BTreeSet::new();
    wait_until("four backups are made", async || {
        if sets.exists() {
            seen.extend(
                names_in(&sets)
                    .into_iter()
                    .filter(|name| !name.starts_with('.')),
            );
        }
        seen.len() >= 4
    })
    .await;
    let pid = keeper.id().to_string();
    assert!(
        Command::new("kill")
            .arg("-TERM")
            .arg(pid)
            .status()
            .unwrap()
            .success()
    );
    assert!(wait_for_end(&mut keeper).success());
    writing.abort();
    let kept: Vec<String> = names_in(&sets)
        .into_iter()
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    let last = node.api(&token).get("/last-backup").await.data();
    assert!(
        last["lastBackupAt"].is_string() && last["lastFailureAt"].is_null(),
        "{last}"
    );

    let url = sqlite(&served);
    let refused = command(&[
        "restore",
        "--replace",
        "--database-url",
        &url,
        sets.to_str().unwrap(),
    ]);
    assert!(
        refusal(&refused).contains("another process serves"),
        "{refused:?}"
    );
    let restored = directory.path().join("restored.db");
    let created = command(&[
        "restore",
        "--database-url",
        &sqlite(&restored),
        sets.to_str().unwrap(),
    ]);
    assert!(created.status.success(), "{created:?}");
    let file = directory
        .path()
        .join("restored.db.uploads/org/passport.pdf");
    assert_eq!(std::fs::read(file).unwrap(), b"scan");
    let again = command(&[
        "restore",
        "--database-url",
        &sqlite(&restored),
        sets.to_str().unwrap(),
    ]);
    assert!(refusal(&again).contains("--replace"), "{again:?}");
    let replaced = command(&[
        "restore",
        "--replace",
        "--database-url",
        &sqlite(&restored),
        sets.to_str().unwrap(),
    ]);
    assert!(replaced.status.success(), "{replaced:?}");
    assert!(
        names_in(directory.path())
            .iter()
            .any(|name| name.starts_with("restored.db.replaced-"))
    );
    let node = Node::start(&sqlite(&restored), &[]);
    let portals = node.api(&token).get("/portals").await.data();
    assert!(
        portals
            .as_array()
            .unwrap()
            .iter()
            .any(|portal| portal["name"] == "Portal 0")
    );
}

/// The second backup downloads only new files from the bucket. For all other files it makes hard
/// links to the files of the first backup.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_a_bucket_are_backed_up_and_restored() {
    let bucket = Bucket::start().await;
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        Command::new(test_support::program())
            .args(arguments)
            .env("AWS_ENDPOINT", &bucket.endpoint)
            .env("AWS_ACCESS_KEY_ID", "id")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("AWS_REGION", "eu-1")
            .current_dir(directory.path())
            .output()
            .unwrap()
    };
    let good = |output: Output| {
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    good(run(&["migrate", "--database-url=sqlite:some.db"]));
    bucket.put("guests/ab/passport", b"scan");
    bucket.put("guests/ab/empty", b"");
    bucket.put("guests/cd/photo", &vec![7; 700_000]);
    bucket.put("other/file", b"of another program");
    let backup = [
        "backup",
        "--keep=2",
        "--database-url=sqlite:some.db",
        "--uploads-url=s3://bucket/guests",
        "sets",
    ];
    assert!(good(run(&backup)).ends_with(", 3 files\n"));
    assert_eq!(bucket.calls("get"), 3);
    bucket.put("guests/ab/contract", b"signed");
    assert!(good(run(&backup)).ends_with(", 4 files\n"));
    assert_eq!(bucket.calls("get"), 4);

    // The target bucket already contains one of the files. The restore does not upload that file
    // again.
    bucket.put("restored/ab/passport", b"scan");
    let restore = |url: &str, database: &str| {
        run(&[
            "restore",
            &format!("--database-url=sqlite:{database}"),
            &format!("--uploads-url={url}"),
            "sets",
        ])
    };
    let reported = good(restore("s3://bucket/restored", "into-bucket.db"));
    assert!(reported.ends_with(", 4 files\n"), "{reported}");
    let restored: Vec<String> = bucket
        .keys()
        .into_iter()
        .filter(|key| key.starts_with("restored/"))
        .collect();
    assert_eq!(
        restored,
        [
            "restored/ab/contract",
            "restored/ab/empty",
            "restored/ab/passport",
            "restored/cd/photo"
        ]
    );
    assert_eq!(bucket.calls("put"), 3);
    let beside = format!("file://{}", directory.path().join("files").display());
    good(restore(&beside, "into-directory.db"));
    let photo = directory.path().join("files/cd/photo");
    assert_eq!(std::fs::read(photo).unwrap(), vec![7; 700_000]);

    let refused = run(&[
        "backup",
        "--keep=2",
        "--database-url=postgres://127.0.0.1:1/x",
        "sets",
    ]);
    assert!(refusal(&refused).contains("pg_dump"), "{refused:?}");
}

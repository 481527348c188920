//! Creates SQLite databases for tests.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use super::server_process::output_of;

/// The content of a migrated database without records.
static MIGRATED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("test.db");
    let url = format!("sqlite:{}", file.display());
    let output =
        output_of(Command::new(super::program()).args(["migrate", "--database-url", &url]));
    assert!(output.status.success(), "{output:?}");
    fs::read(file).unwrap()
});

/// Creates a database with all tables in `file`, as a copy of a migrated database: the migrations
/// would take a tenth of a test's time.
pub(super) fn create_migrated(file: &Path) {
    fs::write(file, MIGRATED.as_slice()).unwrap();
}

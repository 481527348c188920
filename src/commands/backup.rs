//! `vestibule backup`: one file that is the database as it was when the command began.

use std::fs::File;
use std::path::Path;

use crate::config::BackupFlags;

/// Copies the database into a file that appears whole or not at all, and says how large it is.
pub async fn backup(flags: BackupFlags) -> Result<(), String> {
    let shown = flags.file.display().to_string();
    let url = flags.database.url()?;
    let copied = tokio::task::spawn_blocking(move || copy(&url, &flags.file)).await;
    let bytes = copied.map_err(|error| error.to_string())??;
    super::print(&format!("{shown}: {bytes} bytes\n"))
}

fn copy(url: &str, file: &Path) -> Result<u64, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    if file.try_exists().map_err(failed)? {
        return Err(format!("{}: is there already, and is left as it is", file.display()));
    }
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Readable by its owner only: it holds what guests wrote, and secrets.
    let partial = tempfile::Builder::new().prefix(".vestibule-backup-").tempfile_in(directory).map_err(failed)?;
    store::back_up(url, partial.path()).map_err(|error| match error {
        store::Error::Configuration(text) => text,
        other => other.to_string(),
    })?;
    partial.as_file().sync_all().map_err(failed)?;
    let bytes = partial.as_file().metadata().map_err(failed)?.len();
    partial.persist_noclobber(file).map_err(|error| failed(error.error))?;
    // The file is on the disk; this puts its name there, too.
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)?;
    Ok(bytes)
}

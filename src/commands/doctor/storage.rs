//! Checks the storage of guests' files: writes a file, reads it and removes it.

use bytes::Bytes;
use files::Files;
use futures_util::TryStreamExt as _;
use store::Location;

use super::report::DoctorReport;
use crate::config::ServeFlags;

const STORAGE: &str = "storage";
/// The content of the test file that `vestibule doctor` writes to the storage.
const CONTENT: &[u8] = b"vestibule doctor";
/// If fewer bytes than this are free, the report has a note, because the service will soon refuse
/// uploads.
const LOW_SPACE: u64 = 2 << 30;

pub(super) async fn check(flags: &ServeFlags, report: &mut DoctorReport) {
    let url = flags.uploads_url.as_deref().filter(|url| !url.is_empty());
    let database = flags
        .database
        .url()
        .ok()
        .and_then(|url| Location::of(&url).ok());
    let beside = database.and_then(|location| location.with_suffix(".uploads"));
    let (location, storage) = match (url, beside) {
        (Some(url), _) => (url.to_owned(), Files::open(url)),
        (None, Some(path)) if path.exists() => {
            (path.display().to_string(), Files::in_directory(&path))
        }
        (None, Some(path)) => {
            let text = format!("{}: the first start creates it", path.display());
            return report.add_success(STORAGE, &text);
        }
        (None, None) => {
            return report.add_note(
                STORAGE,
                "no storage for files of guests is set, so uploads are answered 503",
                "set --uploads-url to a directory of a volume or to a bucket",
            );
        }
    };
    let result = match storage {
        Ok(files) => try_out(&files).await.map(|()| files),
        Err(error) => Err(error.to_string()),
    };
    match result {
        Ok(files) => report_space(&files, &location, report),
        Err(error) => report.add_error(
            STORAGE,
            &format!("{location}: {error}"),
            "let this process write there; for a bucket, check the AWS_… variables",
        ),
    }
}

/// Writes, reads and removes a test file in the storage.
async fn try_out(files: &Files) -> Result<(), String> {
    let key = format!("doctor/{}", std::process::id());
    let text = |error: files::Error| error.to_string();
    let mut writing = files.create(&key).await.map_err(text)?;
    writing
        .append(Bytes::from_static(CONTENT))
        .await
        .map_err(text)?;
    writing.finish().await.map_err(text)?;
    let read = files.read(&key).await.map_err(text)?;
    let read = read.ok_or("a file that was written cannot be found")?;
    let pieces: Vec<Bytes> = read.stream.try_collect().await.map_err(text)?;
    files.delete(&key).await.map_err(text)?;
    if pieces.concat() == CONTENT {
        Ok(())
    } else {
        Err("a file that was written reads differently".into())
    }
}

/// Reports how much space is free in a directory; a bucket has no limit.
fn report_space(files: &Files, location: &str, report: &mut DoctorReport) {
    match files.space() {
        Ok(Some(space)) if space.free < LOW_SPACE => report.add_note(
            STORAGE,
            &format!("{location}: {} MiB are free", space.free >> 20),
            "make room; uploads are answered 503 below --uploads-reserve",
        ),
        Ok(Some(space)) => report.add_success(
            STORAGE,
            &format!("{location}, {} GiB free", space.free >> 30),
        ),
        _ => report.add_success(STORAGE, location),
    }
}

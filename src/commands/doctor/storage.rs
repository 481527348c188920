//! Checks the storage of guests' files: writes a file, reads it and removes it.

use bytes::Bytes;
use files::Files;
use futures_util::TryStreamExt as _;
use store::Location;

use super::report::DoctorReport;
use crate::config::ServeFlags;

const STORAGE: &str = "storage";
/// The content of the file that is written.
const CONTENT: &[u8] = b"vestibule doctor";
/// Free space below which uploads are soon refused.
const LITTLE: u64 = 2 << 30;

pub(super) async fn check(flags: &ServeFlags, report: &mut DoctorReport) {
    let given = flags.uploads_url.as_deref().filter(|url| !url.is_empty());
    let location = flags
        .database
        .url()
        .ok()
        .and_then(|url| Location::of(&url).ok());
    let beside = location.and_then(|location| location.with_suffix(".uploads"));
    let (place, opened) = match (given, beside) {
        (Some(url), _) => (url.to_owned(), Files::open(url)),
        (None, Some(path)) if path.exists() => {
            (path.display().to_string(), Files::in_directory(&path))
        }
        (None, Some(path)) => {
            let text = format!("{}: the first start creates it", path.display());
            return report.good(STORAGE, &text);
        }
        (None, None) => {
            return report.note(
                STORAGE,
                "no storage for files of guests is set, so uploads are answered 503",
                "set --uploads-url to a directory of a volume or to a bucket",
            );
        }
    };
    let tried = match opened {
        Ok(files) => try_out(&files).await.map(|()| files),
        Err(error) => Err(error.to_string()),
    };
    match tried {
        Ok(files) => note_space(&files, &place, report),
        Err(error) => report.wrong_with(
            STORAGE,
            &format!("{place}: {error}"),
            "let this process write there; for a bucket, check the AWS_… variables",
        ),
    }
}

/// Writes, reads and removes a file.
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

fn note_space(files: &Files, place: &str, report: &mut DoctorReport) {
    match files.space() {
        Ok(Some(space)) if space.free < LITTLE => report.note(
            STORAGE,
            &format!("{place}: {} MiB are free", space.free >> 20),
            "make room; uploads are answered 503 below --uploads-reserve",
        ),
        Ok(Some(space)) => report.good(STORAGE, &format!("{place}, {} GiB free", space.free >> 30)),
        _ => report.good(STORAGE, place),
    }
}

//! Attacks that kill or stop the server, or leave its log pipe unread.

use std::time::{Duration, Instant};

use bench::keys::Keys;
use bytes::Bytes;
use http::Method;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::caller::Caller;
use crate::crowd::{Tally, crowd, describe, grouped};
use crate::stage::Stage;

/// Number of clients of the attacking organization that write and read at the same time.
const WRITERS: usize = 8;
/// The shortest time from the start of a server until it is killed or stopped.
const MIN_LIFETIME: Duration = Duration::from_millis(2_500);
/// The time within which the server must end after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Starts clients of the attacking organization that write and read as fast as possible.
fn load(key: Caller, keys: Keys, deadline: Instant) -> JoinHandle<Tally> {
    tokio::spawn(crowd(WRITERS, deadline, move |number, _| {
        let (key, name) = (key.clone(), keys.next().to_string());
        async move {
            // The texts that are created here are in none of the lists that are read, so these
            // lists do not grow.
            let response = if number % 2 == 0 {
                let text = json!({ "sourceTable": "manual", "text": name }).to_string();
                key.send(
                    Method::POST,
                    "/api/v1/translations",
                    Some(&name),
                    text.into(),
                )
                .await
            } else {
                key.send(Method::GET, "/api/v1/portals", None, Bytes::new())
                    .await
            };
            response.ok().map(|response| response.status)
        }
    }))
}

/// Returns how long a server runs before it is killed or stopped: [`MIN_LIFETIME`], and a random
/// time of about a second at most.
fn lifetime(keys: &Keys) -> Duration {
    MIN_LIFETIME + Duration::from_millis(u64::from(keys.next().as_bytes()[0]) * 4)
}

pub async fn kills(stage: &mut Stage) -> anyhow::Result<String> {
    let (keys, end) = (stage.keys.clone(), stage.begin());
    let load = load(stage.neighbour.key.clone(), keys.clone(), end);
    let mut kills = 0;
    while Instant::now() < end {
        tokio::time::sleep(lifetime(&keys)).await;
        stage.server.kill()?;
        stage.server.restart()?;
        kills += 1;
    }
    Ok(format!(
        "{kills} kills; {WRITERS} neighbours: {}",
        describe(&load.await?)
    ))
}

pub async fn orderly(stage: &mut Stage) -> anyhow::Result<String> {
    let (keys, end) = (stage.keys.clone(), stage.begin());
    let load = load(stage.neighbour.key.clone(), keys.clone(), end);
    let (mut stops, mut longest) = (0, Duration::ZERO);
    while Instant::now() < end {
        tokio::time::sleep(lifetime(&keys)).await;
        let (status, elapsed) = stage.server.terminate().await?;
        if !status.success() || elapsed > STOP_LIMIT {
            stage.defects.push(format!("{status} after {elapsed:?}"));
        }
        stage.server.restart()?;
        (stops, longest) = (stops + 1, longest.max(elapsed));
    }
    Ok(format!(
        "{stops} ends within {:.0} ms; {WRITERS} neighbours: {}",
        longest.as_secs_f64() * 1e3,
        describe(&load.await?)
    ))
}

pub async fn unread_log(stage: &mut Stage) -> anyhow::Result<String> {
    let (keys, end) = (stage.keys.clone(), stage.begin());
    let tally = load(stage.neighbour.key.clone(), keys, end).await?;
    let status = stage.neighbour.key.get("/readyz").await?.status;
    if status != 200 {
        stage.defects.push(format!("/readyz: {status}"));
    }
    let metrics = stage.neighbour.key.get("/metrics").await?.text();
    let lost = metrics.lines().find_map(|line| {
        line.strip_prefix("vestibule_log_lines_lost_total ")?
            .parse()
            .ok()
    });
    Ok(format!(
        "{} lines lost; {WRITERS} neighbours: {}",
        grouped(lost.unwrap_or_default()),
        describe(&tally)
    ))
}

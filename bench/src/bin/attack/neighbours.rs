//! Neighbours of the victim: organizations and a guest that send permitted requests, but far too
//! many of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::caller::Caller;
use crate::crowd::{crowd, describe, grouped};
use crate::organization::Organization;
use crate::stage::Stage;

pub const MANUALS: &str = "/api/v1/portal-manuals";
const PORTALS: &str = "/api/v1/portals";

/// Number of clients whose request bodies are refused.
const REFUSED_CLIENTS: usize = 6;
/// Length of each refused body, in bytes.
const BODY_LENGTH: usize = 590_000;
/// Number of manuals that are created in the neighbour organization. Their texts are so long that
/// the list of these manuals is costly to read.
const HEAVY_MANUALS: usize = 300;
/// Number of clients that read the neighbour's costly list of manuals at the same time.
const READERS: usize = 20;
/// The pause before each change of a manual in the costly list, before each sync that causes events
/// for the hanging receiver, and after a failed erasure.
const CHANGE_INTERVAL: Duration = Duration::from_millis(100);
/// Number of flats whose assignment changes between two portals again and again.
const PROPERTIES: usize = 20_000;
/// Number of clients that change these assignments, all at the same time.
const MOVERS: usize = 4;
/// Number of clients that act as the guest of one stay. A quarter of them read the messages of the
/// stay, and the others send messages.
const GUESTS: usize = 16;
/// Maximum number of messages of a stay.
const MAX_MESSAGES: usize = 200;
/// Number of events that one sync causes for a hanging receiver, which never responds.
const EVENTS_PER_SYNC: usize = 500;
/// Maximum number of events for the hanging receiver, of all syncs together.
const MAX_EVENTS: usize = 100_000;
/// Number of deliveries in the log of a subscription that is deleted.
const LOG_LENGTH: usize = 10_000;

/// Makes a request and returns the status of the response; `None` if there was no response.
async fn status(caller: Caller, method: Method, path: Arc<str>, body: Bytes) -> Option<u16> {
    caller
        .send(method, &path, None, body)
        .await
        .ok()
        .map(|response| response.status)
}

/// Returns the body that creates a step with the maximum number of questions and of options. The
/// body is refused only because the texts to which its ids refer do not exist.
fn large_step(neighbour: &Organization) -> Value {
    let option = json!({ "nameMlTextId": neighbour.new_id() });
    let options: Vec<_> = std::iter::repeat_n(option, 100).collect();
    let question = json!({
        "kind": "single_select",
        "textMlTextId": neighbour.new_id(),
        "isRequired": true,
        "options": options,
    });
    let questions: Vec<_> = std::iter::repeat_n(question, 100).collect();
    json!({ "stepType": "additional_questions", "nickname": "Large", "questions": questions })
}

pub async fn refused_bodies(stage: &mut Stage) -> anyhow::Result<String> {
    let reader = stage
        .neighbour
        .key_with(&["view_properties", "view_guides"])
        .await?;
    let portal = json!({ "name": "Large", "supportNotes": "x".repeat(BODY_LENGTH) }).to_string();
    let step = large_step(&stage.neighbour).to_string();
    let kilobytes = [step.len(), portal.len()].map(|length| length / 1_000);
    let (portal, step) = (Bytes::from(portal), Bytes::from(step));
    let (portals, steps): (Arc<str>, Arc<str>) = (PORTALS.into(), "/api/v1/precheck-steps".into());
    let key = stage.neighbour.key.clone();
    let end = stage.begin();
    let tally = crowd(REFUSED_CLIENTS, end, move |number, _| {
        let (caller, path, body) = match number % 3 {
            0 => (reader.clone(), portals.clone(), portal.clone()),
            1 => (key.clone(), portals.clone(), portal.clone()),
            _ => (key.clone(), steps.clone(), step.clone()),
        };
        status(caller, Method::POST, path, body)
    })
    .await;
    stage.defects.extend(
        tally
            .keys()
            .filter(|status| (200..300).contains(*status))
            .map(|status| format!("a refusal: {status}")),
    );
    Ok(format!(
        "{REFUSED_CLIENTS} clients, bodies of {} and {} KB: {}",
        kilobytes[0],
        kilobytes[1],
        describe(&tally)
    ))
}

/// Creates manuals of the maximum length. Returns the length in bytes of the list of all manuals.
pub async fn heavy_list(neighbour: &Organization) -> anyhow::Result<u64> {
    for number in 0..HEAVY_MANUALS {
        let text = "Long ago. ".repeat(500);
        let manual = json!({
            "nickname": format!("Heavy {number}"),
            "title": "Long",
            "description": text,
            "internalDescription": text,
        });
        neighbour.key.create(MANUALS, manual).await?;
    }
    let response = neighbour.key.get(MANUALS).await?;
    anyhow::ensure!(
        response.status == 200,
        "a list that cannot be read: {}",
        response.status
    );
    Ok(u64::try_from(response.body.len())?)
}

pub async fn heavy_lists(stage: &mut Stage) -> anyhow::Result<String> {
    let bytes = heavy_list(&stage.neighbour).await?;
    let list = stage.neighbour.key.get(MANUALS).await?.data();
    let manual: Arc<str> = format!(
        "{MANUALS}/{}",
        list[0]["id"].as_str().context("a manual without an id")?
    )
    .into();
    let (key, list) = (stage.neighbour.key.clone(), Arc::<str>::from(MANUALS));
    let end = stage.begin();
    let reader = key.clone();
    let reading = crowd(READERS, end, move |_, _| {
        status(reader.clone(), Method::GET, list.clone(), Bytes::new())
    });
    // Each change of a manual invalidates the cached list of manuals, so the server must build the
    // list again for the readers.
    let changing = crowd(1, end, move |_, round| {
        let (key, manual) = (key.clone(), manual.clone());
        async move {
            tokio::time::sleep(CHANGE_INTERVAL).await;
            let change = json!({ "data": { "iconName": format!("icon-{round}") } }).to_string();
            status(key, Method::PATCH, manual, change.into()).await
        }
    });
    let (reading, changing) = tokio::join!(reading, changing);
    Ok(format!(
        "{READERS} readers of {} KB: {}; changed: {}",
        grouped(bytes / 1_000),
        describe(&reading),
        describe(&changing)
    ))
}

pub async fn moved_flats(stage: &mut Stage) -> anyhow::Result<String> {
    let flats = stage.neighbour.flats(PROPERTIES).await?;
    let mut bodies = Vec::new();
    for name in ["One", "Other"] {
        let portal = stage
            .neighbour
            .key
            .create(PORTALS, json!({ "name": name }))
            .await?;
        let scopes =
            json!({ "entityType": "portal_settings", "entityId": portal, "propertyIds": flats });
        bodies.push(Bytes::from(scopes.to_string()));
    }
    let key = stage.neighbour.key.clone();
    let path: Arc<str> = "/api/v1/entity-scopes".into();
    let end = stage.begin();
    let tally = crowd(MOVERS, end, move |number, round| {
        let body = bodies[(number + usize::from(round % 2 == 1)) % 2].clone();
        status(key.clone(), Method::POST, path.clone(), body)
    })
    .await;
    Ok(format!(
        "{MOVERS} clients, {} flats each time: {}",
        grouped(u64::try_from(PROPERTIES)?),
        describe(&tally)
    ))
}

pub async fn messages(stage: &mut Stage) -> anyhow::Result<String> {
    let (stay, token) = stage.neighbour.stay().await?;
    let path: Arc<str> = format!("/guest/v1/stays/{token}/messages").into();
    let message = Bytes::from(json!({ "text": "x".repeat(6_000) }).to_string());
    let guest = stage.neighbour.key.clone();
    let end = stage.begin();
    let tally = crowd(GUESTS, end, move |number, _| {
        // Every fourth client reads the messages instead of sending one.
        let (method, body) = if number % 4 == 3 {
            (Method::GET, Bytes::new())
        } else {
            (Method::POST, message.clone())
        };
        status(guest.clone(), method, path.clone(), body)
    })
    .await;
    let path = format!("{}/reservations/{stay}/messages", stage.neighbour.path);
    let messages = stage
        .neighbour
        .platform
        .ok(Method::GET, &path, Value::Null)
        .await?;
    let messages = messages.as_array().map_or(0, Vec::len);
    if messages > MAX_MESSAGES {
        stage.defects.push(format!("{messages} messages in a stay"));
    }
    Ok(format!(
        "{GUESTS} clients of one stay: {}; {messages} messages kept",
        describe(&tally)
    ))
}

/// Starts a receiver that accepts connections and sends no response. Returns its URL and a counter
/// of the connections.
async fn start_hanging_receiver(
    receiver_tasks: &mut JoinSet<()>,
) -> anyhow::Result<(String, Arc<AtomicU64>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("https://{}/hook", listener.local_addr()?);
    let connections = Arc::<AtomicU64>::default();
    let counter = connections.clone();
    receiver_tasks.spawn(async move {
        let mut streams = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::Relaxed);
            streams.push(stream);
            // The service closes each connection after 10 s and never has 4,096 of them open at
            // once. So the oldest of these streams is already closed and can be dropped.
            if streams.len() > 4_096 {
                streams.remove(0);
            }
        }
    });
    Ok((url, connections))
}

pub async fn hanging_receiver(stage: &mut Stage) -> anyhow::Result<String> {
    let mut receiver_tasks = JoinSet::new();
    let (url, connections) = start_hanging_receiver(&mut receiver_tasks).await?;
    stage.neighbour.subscribe(&url).await?;
    let neighbour = stage.neighbour.clone();
    let end = stage.begin();
    let tally = crowd(1, end, move |_, round| {
        let neighbour = neighbour.clone();
        async move {
            if usize::try_from(round).is_ok_and(|round| round >= MAX_EVENTS / EVENTS_PER_SYNC) {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(CHANGE_INTERVAL).await;
            neighbour.tasks(EVENTS_PER_SYNC).await.ok().map(|()| 200)
        }
    })
    .await;
    let events = tally.get(&200).copied().unwrap_or_default() * u64::try_from(EVENTS_PER_SYNC)?;
    let connections = grouped(connections.load(Ordering::Relaxed));
    Ok(format!(
        "{} events, {connections} connections that hang, {} syncs unanswered",
        grouped(events),
        tally.get(&0).copied().unwrap_or_default()
    ))
}

pub async fn long_logs(stage: &mut Stage) -> anyhow::Result<String> {
    let mut receiver_tasks = JoinSet::new();
    let (url, _) = start_hanging_receiver(&mut receiver_tasks).await?;
    let (platform, keys) = (stage.platform(), stage.keys.clone());
    let (mut rounds, mut failed, end) = (0_u64, 0, stage.begin());
    let mut longest = Duration::ZERO;
    while Instant::now() < end {
        let erasure = async {
            let organization = Organization::new(platform.clone(), keys.clone()).await?;
            let subscription = organization.subscribe(&url).await?;
            organization.tasks(LOG_LENGTH).await?;
            let started = Instant::now();
            let path = format!("/api/v1/webhook-subscriptions?id={subscription}");
            organization
                .key
                .ok(Method::DELETE, &path, Value::Null)
                .await?;
            organization
                .platform
                .ok(Method::DELETE, &organization.path, Value::Null)
                .await?;
            anyhow::Ok((organization, started.elapsed()))
        };
        match erasure.await {
            Ok((organization, elapsed)) => {
                (rounds, longest) = (rounds + 1, longest.max(elapsed));
                if let Ok(response) = organization.key.get(PORTALS).await
                    && !matches!(response.status, 401 | 503)
                {
                    stage.defects.push(format!(
                        "the key of an erased organization: {}",
                        response.status
                    ));
                }
            }
            Err(error) => {
                eprintln!("  {error:#}");
                failed += 1;
                tokio::time::sleep(CHANGE_INTERVAL).await;
            }
        }
    }
    let log = grouped(u64::try_from(LOG_LENGTH)?);
    Ok(format!(
        "{rounds} times {log} deliveries; deleted and erased within {:.0} ms at the most; {failed} \
            failed",
        longest.as_secs_f64() * 1e3
    ))
}

//! The baseline for the service's rate of deliveries: a loop that sends the same bytes repeatedly
//! by `POST`. It runs in a separate process, like the service.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Client;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::receiver::{self, Arrival};
use crate::server::KillOnDrop;

/// The task of the process that sends the POST requests. The benchmark writes the task to a file,
/// from which the process reads it.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    urls: Vec<String>,
    headers: BTreeMap<String, String>,
    body: String,
    /// Maximum number of POST requests that are in progress at the same time.
    concurrency: usize,
    /// The file with the certificate authority of the receivers.
    authority: PathBuf,
}

/// The posting process.
pub struct Poster {
    process: KillOnDrop,
    commands: ChildStdin,
}

impl Poster {
    /// Starts `program`, which sends POST requests with the headers and the body of `sample` to
    /// each of `urls` in turn. Up to `concurrency` requests are in progress at the same time.
    pub fn start(
        program: &Path,
        scratch: &Path,
        urls: &[String],
        sample: &Arrival,
        concurrency: usize,
        authority: &Path,
    ) -> anyhow::Result<Self> {
        let headers = sample
            .headers
            .iter()
            .map(|(name, value)| Ok((name.as_str().to_owned(), value.to_str()?.to_owned())));
        let job = Job {
            urls: urls.to_vec(),
            headers: headers.collect::<anyhow::Result<_>>()?,
            body: String::from_utf8(sample.body.to_vec())?,
            concurrency,
            authority: authority.to_owned(),
        };
        let file = scratch.join(format!("post-{}.json", urls.len()));
        serde_json::to_writer(File::create(&file)?, &job)?;
        let mut child = Command::new(program)
            .arg("bare-post")
            .arg(&file)
            .stdin(Stdio::piped())
            .spawn()?;
        let commands = child
            .stdin
            .take()
            .context("a process without standard input")?;
        Ok(Self {
            process: KillOnDrop(child),
            commands,
        })
    }

    /// Tells the process to send the delivery `count` times by `POST`. Does not wait until the
    /// process has sent it.
    pub fn post(&mut self, count: usize) -> anyhow::Result<()> {
        writeln!(self.commands, "{count}")?;
        Ok(self.commands.flush()?)
    }

    /// Returns the processor time that the posting process has used so far.
    pub fn processor_time(&self) -> anyhow::Result<Duration> {
        self.process.processor_time()
    }
}

/// Sends a delivery by `POST`. The file `job` describes the delivery, and each line of standard
/// input states how many times to send it. Returns when standard input ends.
pub async fn serve(job: &Path) -> anyhow::Result<()> {
    let Job {
        urls,
        headers,
        body,
        concurrency,
        authority,
    } = serde_json::from_reader(BufReader::new(File::open(job)?))?;
    let header = |(name, value): (String, String)| {
        Ok((HeaderName::try_from(name)?, HeaderValue::try_from(value)?))
    };
    let headers: HeaderMap = headers
        .into_iter()
        .map(header)
        .collect::<anyhow::Result<_>>()?;
    let client = receiver::trusting_client(&fs::read(authority)?)?;
    let post = Arc::new(Post {
        client,
        urls,
        headers,
        body: body.into(),
    });
    let mut commands = std::io::stdin().lock().lines();
    while let Some(command) = commands.next().transpose()? {
        let (count, next) = (command.trim().parse()?, Arc::new(AtomicUsize::new(0)));
        let mut workers: JoinSet<anyhow::Result<()>> = (0..concurrency)
            .map(|_| post.clone().repeat(next.clone(), count))
            .collect();
        while let Some(result) = workers.join_next().await {
            result??;
        }
    }
    Ok(())
}

/// The POST requests of a measurement: the client that sends them, their URLs, their headers and
/// their body.
struct Post {
    client: Client,
    urls: Vec<String>,
    headers: HeaderMap,
    body: Bytes,
}

impl Post {
    /// Repeats the request until all workers together have sent it `count` times. `next` is the
    /// counter that the workers share.
    async fn repeat(self: Arc<Self>, next: Arc<AtomicUsize>, count: usize) -> anyhow::Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(());
            }
            let request = self.client.post(&self.urls[number % self.urls.len()]);
            let status = request
                .headers(self.headers.clone())
                .body(self.body.clone())
                .send()
                .await?
                .status();
            ensure!(status.is_success(), "a receiver answered {status}");
        }
    }
}

//! The yardstick for deliveries: a loop that posts the same bytes repeatedly, in a process of its
//! own like the service.

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
use crate::server::Killed;

/// The job of the posting process, as it is handed over in a file.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    urls: Vec<String>,
    headers: BTreeMap<String, String>,
    body: String,
    /// Number of posts under way at once.
    under_way: usize,
    /// The file with the authority of the receivers.
    authority: PathBuf,
}

/// The process that posts.
pub struct Poster {
    process: Killed,
    orders: ChildStdin,
}

impl Poster {
    /// Starts `program` to post the sample to each of `urls` in turn, with `under_way` posts at
    /// once.
    pub fn start(
        program: &Path,
        scratch: &Path,
        urls: &[String],
        sample: &Arrival,
        under_way: usize,
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
            under_way,
            authority: authority.to_owned(),
        };
        let file = scratch.join(format!("post-{}.json", urls.len()));
        serde_json::to_writer(File::create(&file)?, &job)?;
        let mut child = Command::new(program)
            .arg("bare-post")
            .arg(&file)
            .stdin(Stdio::piped())
            .spawn()?;
        let orders = child
            .stdin
            .take()
            .context("a process without standard input")?;
        Ok(Self {
            process: Killed(child),
            orders,
        })
    }

    /// Orders `count` posts. Does not wait for them.
    pub fn post(&mut self, count: usize) -> anyhow::Result<()> {
        writeln!(self.orders, "{count}")?;
        Ok(self.orders.flush()?)
    }

    /// Returns the processor time it has used so far.
    pub fn processor_time(&self) -> anyhow::Result<Duration> {
        self.process.processor_time()
    }
}

/// Posts the job in a file, as often as each line of standard input says, until the input ends.
pub async fn serve(job: &Path) -> anyhow::Result<()> {
    let Job {
        urls,
        headers,
        body,
        under_way,
        authority,
    } = serde_json::from_reader(BufReader::new(File::open(job)?))?;
    let header = |(name, value): (String, String)| {
        Ok((HeaderName::try_from(name)?, HeaderValue::try_from(value)?))
    };
    let headers: HeaderMap = headers
        .into_iter()
        .map(header)
        .collect::<anyhow::Result<_>>()?;
    let client = receiver::client(&fs::read(authority)?)?;
    let post = Arc::new(Post {
        client,
        urls,
        headers,
        body: body.into(),
    });
    let mut orders = std::io::stdin().lock().lines();
    while let Some(order) = orders.next().transpose()? {
        let (count, next) = (order.trim().parse()?, Arc::new(AtomicUsize::new(0)));
        let mut workers: JoinSet<anyhow::Result<()>> = (0..under_way)
            .map(|_| post.clone().repeat(next.clone(), count))
            .collect();
        while let Some(done) = workers.join_next().await {
            done??;
        }
    }
    Ok(())
}

/// The content and targets of the posts.
struct Post {
    client: Client,
    urls: Vec<String>,
    headers: HeaderMap,
    body: Bytes,
}

impl Post {
    /// Makes posts until `count` have been made in total.
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

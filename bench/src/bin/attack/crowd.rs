//! Many clients that repeat the same action at the same time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

/// A client stops after this many rounds, even before the deadline.
const MAX_ROUNDS: u64 = 1_000_000;
/// How long a client pauses after a request that got no response.
const PAUSE: Duration = Duration::from_millis(50);

/// The number of responses with each status. Status 0 counts the requests without a response.
pub type Tally = BTreeMap<u16, u64>;

/// Starts `count` clients. Each repeats `act` until a deadline. `act` takes the number of the
/// client and the number of the round. It returns the status of the response, if there was a
/// response. Rounds that are in progress at the deadline are cancelled.
pub async fn crowd<F>(
    count: usize,
    deadline: Instant,
    act: impl Fn(usize, u64) -> F + Clone + Send + 'static,
) -> Tally
where
    F: Future<Output = Option<u16>> + Send + 'static,
{
    let mut running = JoinSet::new();
    for number in 0..count {
        let act = act.clone();
        running.spawn(async move {
            let mut tally = Tally::new();
            for round in 0..MAX_ROUNDS {
                let Ok(status) = tokio::time::timeout_at(deadline.into(), act(number, round)).await
                else {
                    break;
                };
                *tally.entry(status.unwrap_or_default()).or_default() += 1;
                if status.is_none() {
                    tokio::time::sleep(PAUSE).await;
                }
            }
            tally
        });
    }
    let mut total = Tally::new();
    for (status, count) in running.join_all().await.into_iter().flatten() {
        *total.entry(status).or_default() += count;
    }
    total
}

/// Formats a tally. An example is `1,200 × 201, 3 × 503`.
pub fn describe(tally: &Tally) -> String {
    let parts = tally.iter().map(|(status, count)| match status {
        0 => format!("{} unanswered", grouped(*count)),
        status => format!("{} × {status}", grouped(*count)),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Formats a number with a comma before every group of three digits.
pub fn grouped(number: u64) -> String {
    match (number / 1_000, number % 1_000) {
        (0, rest) => rest.to_string(),
        (thousands, rest) => format!("{},{rest:03}", grouped(thousands)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_is_formatted_as_text() {
        let tally = Tally::from([(0, 2), (201, 1_234_005), (503, 7)]);
        assert_eq!(describe(&tally), "2 unanswered, 1,234,005 × 201, 7 × 503");
    }

    #[tokio::test]
    async fn a_crowd_stops_at_its_deadline() {
        let deadline = Instant::now() + Duration::from_millis(50);
        let tally = crowd(3, deadline, |number, round| async move {
            let pause = if round < 2 {
                Duration::ZERO
            } else {
                Duration::from_secs(60)
            };
            tokio::time::sleep(pause).await;
            (number > 0).then_some(200)
        });
        assert_eq!(tally.await[&200], 4);
    }
}

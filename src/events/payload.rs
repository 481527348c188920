//! Builds the data of a delivery, at the moment of sending (rules: webhooks#deliveries, 2).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use delivery::{Hearing, Owner, Said, Subscription, Told};
use engine::context::Context;
use engine::error::{Error, Result};
use engine::pipeline::Service;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use store::Transaction;
use uuid::Uuid;

use super::Event;
use super::standing;
use super::workflow;
use crate::records::{Kind, Record, find_records};

/// Builds the data that a subscription's credential may see now.
pub struct Payloads(pub Arc<Service>);

/// The subject of a delivery.
#[derive(Clone, Copy)]
enum Subject {
    /// A record, in the form of its read.
    Record(Kind, Uuid),
    /// A run of a workflow step.
    Run(Uuid),
    /// No subject, because it is a ping.
    Ping,
}

/// The data of a ping.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ping {
    /// The subscription that is tested.
    subscription_id: Uuid,
}

/// The records that deliveries are about, as far as the credential may read them.
type Records = HashMap<(Kind, Uuid), Result<Record>>;

impl Owner for Payloads {
    fn tell(
        &self,
        tx: &mut Transaction<'_>,
        subscription: &Subscription,
        told: &[Told],
        now: Timestamp,
        say: &mut dyn FnMut(Said),
    ) -> Result<Hearing> {
        let Subscription {
            organization,
            id,
            credential,
            event,
        } = subscription;
        let event = event.parse::<Event>().map_err(|_| {
            Error::internal(format!("a subscription names the unknown event {event}"))
        })?;
        let caller = standing::caller_of(tx, *organization, credential, now)?;
        let caller = match standing::hearing(caller.as_ref(), event) {
            Ok(caller) => caller,
            Err(reason) => return Ok(Hearing::Refused(reason)),
        };
        let mut context = Context::of_known(self.0.system(tx, now), caller);
        let subjects: Vec<Result<Subject>> = told.iter().map(Subject::of).collect();
        let records = read(&mut context, subjects.iter().flatten())?;
        for subject in subjects {
            say(subject.and_then(|subject| data(&mut context, &records, *id, subject)));
        }
        Ok(Hearing::Granted)
    }
}

impl Subject {
    fn of(told: &Told) -> Result<Self> {
        if told.is_ping() {
            return Ok(Self::Ping);
        }
        let unknown = || {
            Error::internal(format!(
                "cannot make the payload of a delivery of {}",
                told.event
            ))
        };
        let subject = told.subject.as_ref().ok_or_else(unknown)?;
        let event = told.event.parse::<Event>().map_err(|_| unknown())?;
        let kind = subject.kind.parse::<Kind>().map_err(|_| unknown())?;
        Ok(if event == Event::WorkflowStep {
            Self::Run(subject.record_id)
        } else {
            Self::Record(kind, subject.record_id)
        })
    }
}

/// Reads the records that deliveries are about, one query for each kind.
fn read<'s>(
    context: &mut Context<'_, '_>,
    subjects: impl Iterator<Item = &'s Subject>,
) -> Result<Records> {
    let mut told: BTreeMap<Kind, Vec<Uuid>> = BTreeMap::new();
    for subject in subjects {
        if let Subject::Record(kind, id) = *subject {
            told.entry(kind).or_default().push(id);
        }
    }
    let mut records = HashMap::new();
    for (kind, ids) in told {
        records.extend(
            find_records(context, kind, ids)?
                .into_iter()
                .map(|(id, record)| ((kind, id), record)),
        );
    }
    Ok(records)
}

/// Returns the data of a delivery. Returns `None` if the credential cannot read the subject, or the
/// subject was deleted.
fn data(
    context: &mut Context<'_, '_>,
    records: &Records,
    subscription: Uuid,
    subject: Subject,
) -> Said {
    match subject {
        Subject::Record(kind, id) => records
            .get(&(kind, id))
            .map(|record| raw(record.as_ref().map_err(Clone::clone)?))
            .transpose(),
        Subject::Run(id) => workflow::run_data(context, id)?
            .as_ref()
            .map(raw)
            .transpose(),
        Subject::Ping => raw(&Ping {
            subscription_id: subscription,
        })
        .map(Some),
    }
}

fn raw(data: &impl Serialize) -> Result<Box<RawValue>> {
    to_raw_value(data).map_err(Error::internal)
}

//! What a receiver is told, read at the moment it is sent (spec: Delivery, "data timing").

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

/// Tells what the credential of a subscription may see now.
pub struct Payloads(pub Arc<Service>);

/// What is told of.
#[derive(Clone, Copy)]
enum Subject {
    /// A record, as its read returns it.
    Record(Kind, Uuid),
    /// A run of a workflow step.
    Run(Uuid),
    /// Nothing: it is a ping.
    Ping,
}

/// The data of a ping.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ping {
    /// What is tried out.
    subscription_id: Uuid,
}

/// The records that deliveries tell of, as far as they may be read.
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
        let Subscription { organization, id, credential, event } = subscription;
        let event = event.parse::<Event>().map_err(|_| Error::internal(format!("a subscription to {event}, which is no event")))?;
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
        let unknown = || Error::internal(format!("a delivery of {} cannot be told", told.event));
        let subject = told.subject.as_ref().ok_or_else(unknown)?;
        let event = told.event.parse::<Event>().map_err(|_| unknown())?;
        let kind = subject.kind.parse::<Kind>().map_err(|_| unknown())?;
        Ok(if event == Event::WorkflowStep { Self::Run(subject.record_id) } else { Self::Record(kind, subject.record_id) })
    }
}

/// Reads the records that deliveries tell of, those of a kind together.
fn read<'s>(context: &mut Context<'_, '_>, subjects: impl Iterator<Item = &'s Subject>) -> Result<Records> {
    let mut told: BTreeMap<Kind, Vec<Uuid>> = BTreeMap::new();
    for subject in subjects {
        if let Subject::Record(kind, id) = *subject {
            told.entry(kind).or_default().push(id);
        }
    }
    let mut records = HashMap::new();
    for (kind, ids) in told {
        records.extend(find_records(context, kind, ids)?.into_iter().map(|(id, record)| ((kind, id), record)));
    }
    Ok(records)
}

/// What there is to tell; `None` where the credential cannot read it, or it is gone.
fn data(context: &mut Context<'_, '_>, records: &Records, subscription: Uuid, subject: Subject) -> Said {
    match subject {
        Subject::Record(kind, id) => records.get(&(kind, id)).map(|record| raw(record.as_ref().map_err(Clone::clone)?)).transpose(),
        Subject::Run(id) => workflow::run_data(context, id)?.as_ref().map(raw).transpose(),
        Subject::Ping => raw(&Ping { subscription_id: subscription }).map(Some),
    }
}

fn raw(data: &impl Serialize) -> Result<Box<RawValue>> {
    to_raw_value(data).map_err(Error::internal)
}

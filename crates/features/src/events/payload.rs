//! Builds the data of a delivery when the dispatcher sends it (rules: webhooks#deliveries, 2). The
//! crate `delivery` calls this module through its trait `SubscriptionOwner`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use delivery::{Eligibility, EventData, ReportedEvent, Subscription, SubscriptionOwner};
use engine::context::Context;
use engine::error::{Error, Result};
use engine::pipeline::Service;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use store::Transaction;
use uuid::Uuid;

use super::Event;
use super::eligibility;
use super::workflow;
use crate::records::{Record, RecordKind, find_records};

/// Builds the data of deliveries. The data contains only fields that the subscription's credential
/// may read when the data is built.
pub struct Payloads(pub Arc<Service>);

/// The subject of a delivery: the record or run from which the delivery's data is built.
#[derive(Clone, Copy)]
enum DeliverySubject {
    /// A record, as the read operations return it.
    Record(RecordKind, Uuid),
    /// A run of a workflow step.
    Run(Uuid),
    /// A ping, which has no subject.
    Ping,
}

/// The data of a ping.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ping {
    /// The subscription that the ping tests.
    subscription_id: Uuid,
}

/// The records that deliveries are about, by kind and id. A record that cannot be decoded has an
/// error as its value. A record that the credential cannot access has no entry.
type PayloadRecords = HashMap<(RecordKind, Uuid), Result<Record>>;

impl SubscriptionOwner for Payloads {
    fn current_data(
        &self,
        tx: &mut Transaction<'_>,
        subscription: &Subscription,
        reported: &[ReportedEvent],
        now: Timestamp,
    ) -> Result<Eligibility> {
        let Subscription {
            organization,
            id,
            credential,
            event,
        } = subscription;
        let event = event.parse::<Event>().map_err(|_| {
            Error::internal(format!("a subscription names the unknown event {event}"))
        })?;
        let caller = eligibility::load_caller(tx, *organization, credential, now)?;
        let caller = match eligibility::check_eligibility(caller.as_ref(), event) {
            Ok(caller) => caller,
            Err(reason) => return Ok(Eligibility::Refused(reason)),
        };
        let mut context = Context::of_identified(self.0.system(tx, now), caller);
        let subjects: Vec<Result<DeliverySubject>> =
            reported.iter().map(DeliverySubject::of).collect();
        let records = read_records(&mut context, subjects.iter().flatten())?;
        let data = subjects
            .into_iter()
            .map(|subject| data(&mut context, &records, *id, subject?))
            .collect();
        Ok(Eligibility::Granted(data))
    }
}

impl DeliverySubject {
    fn of(reported: &ReportedEvent) -> Result<Self> {
        if reported.is_ping() {
            return Ok(Self::Ping);
        }
        let unknown = || {
            Error::internal(format!(
                "cannot make the payload of a delivery of {}",
                reported.event
            ))
        };
        let subject = reported.subject.as_ref().ok_or_else(unknown)?;
        let event = reported.event.parse::<Event>().map_err(|_| unknown())?;
        let kind = subject.kind.parse::<RecordKind>().map_err(|_| unknown())?;
        Ok(if event == Event::WorkflowStep {
            Self::Run(subject.record_id)
        } else {
            Self::Record(kind, subject.record_id)
        })
    }
}

/// Reads the records that deliveries are about, with one query for each kind of record.
fn read_records<'s>(
    context: &mut Context<'_, '_>,
    subjects: impl Iterator<Item = &'s DeliverySubject>,
) -> Result<PayloadRecords> {
    let mut ids_by_kind: BTreeMap<RecordKind, Vec<Uuid>> = BTreeMap::new();
    for subject in subjects {
        if let DeliverySubject::Record(kind, id) = *subject {
            ids_by_kind.entry(kind).or_default().push(id);
        }
    }
    let mut records = HashMap::new();
    for (kind, ids) in ids_by_kind {
        records.extend(
            find_records(context, kind, ids)?
                .into_iter()
                .map(|(id, record)| ((kind, id), record)),
        );
    }
    Ok(records)
}

/// Returns the data of a delivery, or nothing if the subscription's credential cannot read the
/// subject, or if the subject was deleted.
fn data(
    context: &mut Context<'_, '_>,
    records: &PayloadRecords,
    subscription: Uuid,
    subject: DeliverySubject,
) -> EventData {
    match subject {
        DeliverySubject::Record(kind, id) => records
            .get(&(kind, id))
            .map(|record| raw(record.as_ref().map_err(Clone::clone)?))
            .transpose(),
        DeliverySubject::Run(id) => workflow::run_data(context, id)?
            .as_ref()
            .map(raw)
            .transpose(),
        DeliverySubject::Ping => raw(&Ping {
            subscription_id: subscription,
        })
        .map(Some),
    }
}

fn raw(data: &impl Serialize) -> Result<Box<RawValue>> {
    to_raw_value(data).map_err(Error::internal)
}

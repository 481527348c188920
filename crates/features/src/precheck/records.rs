//! Reads and writes steps in the database, with the list item that is stored beside each step.

use std::collections::HashMap;

use engine::app::Summary;
use engine::context::Context;
use engine::error::{Error, Result};
use engine::values;
use store::{Json, Row};
use uuid::Uuid;

use super::step::Step;
use super::step_answers::WrittenStep;
use crate::records::{RecordKind, update_record_links};
use crate::translations;

store::statements! {
    /// Selects a step.
    STEP = "select doc, is_used from precheck_step where organization_id = ?1 and id = ?2";
    /// Selects every step.
    STEPS = "select doc from precheck_step where organization_id = ?1";
    /// Selects steps by id.
    SOME = "select doc from precheck_step where organization_id = ?1 and id = any(?2)";
    /// Selects active steps by id.
    ACTIVE_AMONG = "select doc from precheck_step where organization_id = ?1 and id = any(?2)
        and is_active = true";
    /// Writes a step.
    PUT_STEP = "insert into precheck_step
        (organization_id, id, step_type, sort_order, is_active, is_used, created_at, updated_at,
        summary, doc)
        values (?1, ?2, ?3, ?4, ?5, false, ?6, ?7, ?8, ?9)
        on conflict (organization_id, id) do update
        set step_type = excluded.step_type, sort_order = excluded.sort_order,
        is_active = excluded.is_active, updated_at = excluded.updated_at,
        summary = excluded.summary, doc = excluded.doc";
    /// Marks a step as used: a guest has saved an answer to it.
    USE_STEP = "update precheck_step set is_used = true where organization_id = ?1 and id = ?2
        and is_used = false";
    /// Selects the steps with an id after `?2`, in the order of ids. After a change of the format
    /// `SUMMARY`, the service reads all steps with this statement, batch by batch, and writes their
    /// list items again.
    AFTER = "select id, doc from precheck_step where organization_id = ?1 and id > ?2 order by id
        limit ?3";
    /// Writes the summary of a step: the item that stands for the step in lists.
    PUT_SUMMARY = "update precheck_step set summary = ?3 where organization_id = ?1 and id = ?2";
}

/// The stored list item of a step. Raise its version when [`WrittenStep`] changes; a test checks
/// that both change together.
pub(crate) static SUMMARY: Summary = Summary {
    name: "precheck_step",
    version: 1,
    read: &AFTER,
    write: &PUT_SUMMARY,
    of: |row| {
        let Json(step) = row.get(1)?;
        summary(&step)
    },
};

/// The value of `record_link.from_kind` for links from steps to records.
pub(crate) const LINKED_AS: &str = "precheck_step";

/// Returns the step with this id, and whether any guest has saved an answer to the step. Returns
/// `None` if the step does not exist.
pub(super) fn find(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<(Step, bool)>> {
    let Some(row) = context.row(&STEP, values![id])? else {
        return Ok(None);
    };
    let Json(step) = row.get(0)?;
    Ok(Some((step, row.get(1)?)))
}

/// Returns the internal label of a step.
pub(super) fn name(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<String>> {
    Ok(find(context, id)?.map(|(step, _)| step.nickname))
}

/// Returns the step with this id, without a check of the caller's access; `None` if there is no
/// such step.
pub(crate) fn step_by_id(context: &mut Context<'_, '_>, id: Uuid) -> Result<Option<Step>> {
    Ok(find(context, id)?.map(|(step, _)| step))
}

/// Returns every step of the organization, unordered.
pub(crate) fn all_steps(context: &mut Context<'_, '_>) -> Result<Vec<Step>> {
    steps(&context.rows(&STEPS, [])?)
}

/// Returns the steps with these ids, unordered.
pub(crate) fn steps_by_id(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<Vec<Step>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    steps(&context.rows(&SOME, values![ids])?)
}

/// Returns the active steps among these ids, unordered.
pub(crate) fn active_steps_by_id(
    context: &mut Context<'_, '_>,
    ids: Vec<Uuid>,
) -> Result<Vec<Step>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    steps(&context.rows(&ACTIVE_AMONG, values![ids])?)
}

fn steps(rows: &[Row]) -> Result<Vec<Step>> {
    rows.iter()
        .map(|row| Ok(row.get(0).map(|Json(step)| step)?))
        .collect()
}

/// Marks a step as used, because a guest has saved an answer to it. The type of a used step is
/// locked.
pub(crate) fn mark_used(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    context.execute_deferred(&USE_STEP, values![id])
}

/// Writes a step, its list item, and its links to records and texts.
pub(super) fn save(
    context: &mut Context<'_, '_>,
    before: Option<&Step>,
    step: &Step,
) -> Result<()> {
    put(context, step)?;
    update_record_links(
        context,
        LINKED_AS,
        step.id,
        before.into_iter().flat_map(linked_records),
        linked_records(step),
    )?;
    translations::save_links(
        context,
        step.id,
        before.into_iter().flat_map(Step::all_linked_texts),
        step.all_linked_texts(),
    )
}

/// Writes a step and its list item, but not its links. Call this only if the step's links are
/// unchanged.
pub(super) fn put(context: &mut Context<'_, '_>, step: &Step) -> Result<()> {
    context.execute_deferred(&PUT_STEP, row(step)?)
}

/// Returns the list item of a step.
fn summary(step: &Step) -> Result<String> {
    serde_json::to_string(&WrittenStep::from(step)).map_err(Error::internal)
}

/// Returns the parameters of [`PUT_STEP`], except the first, which is the id of the organization.
fn row(step: &Step) -> Result<[store::Value; 8]> {
    let summary = summary(step)?;
    let doc = store::Value::json(step)?;
    let sort_order = step.sort_order.map(i64::from);
    Ok(values![
        step.id,
        step.step_type.as_ref(),
        sort_order,
        step.is_active,
        step.created_at,
        step.updated_at,
        summary,
        doc
    ])
}

/// Returns the records that a step links: payment accounts, the account for background checks, and
/// fee products.
fn linked_records(step: &Step) -> Vec<(RecordKind, Uuid)> {
    let accounts = step
        .payment_accounts()
        .into_iter()
        .flatten()
        .map(|id| (RecordKind::PaymentAccount, id));
    let checks = step
        .write_only
        .background_check_account_id
        .map(|id| (RecordKind::BackgroundCheckAccount, id));
    let fees = step
        .fee_product_ids
        .iter()
        .map(|id| (RecordKind::FeeProduct, *id));
    accounts.chain(checks).chain(fees).collect()
}

/// Removes deleted records from the steps that name them. Each entry of `deleted` is the id of a
/// step, and the kind and the id of a record. The calling function deletes the rows of
/// `record_link`.
pub(crate) fn forget_records(
    context: &mut Context<'_, '_>,
    deleted: &[(Uuid, RecordKind, Uuid)],
) -> Result<()> {
    let mut links_by_step = HashMap::<Uuid, Vec<(RecordKind, Uuid)>>::new();
    for (step, kind, id) in deleted {
        links_by_step.entry(*step).or_default().push((*kind, *id));
    }
    let mut steps = steps(&context.rows(
        &SOME,
        values![links_by_step.keys().copied().collect::<Vec<_>>()],
    )?)?;
    for step in &mut steps {
        for (kind, id) in links_by_step.get(&step.id).into_iter().flatten() {
            forget_record(step, *kind, *id);
        }
        step.updated_at = step.updated_at.advanced_to(context.now());
    }
    let rows = steps.iter().map(row).collect::<Result<_>>()?;
    context.execute_many(&PUT_STEP, rows).map(drop)
}

fn forget_record(step: &mut Step, kind: RecordKind, gone: Uuid) {
    use RecordKind::{BackgroundCheckAccount, FeeProduct, PaymentAccount};
    let (charges, write_only) = (&mut step.charges, &mut step.write_only);
    for (linked, id) in [
        (
            PaymentAccount,
            &mut charges.damage_waiver_payment_account_id,
        ),
        (
            PaymentAccount,
            &mut charges.security_deposit_payment_account_id,
        ),
        (PaymentAccount, &mut write_only.fees_payment_account_id),
        (
            BackgroundCheckAccount,
            &mut write_only.background_check_account_id,
        ),
    ] {
        if linked == kind && *id == Some(gone) {
            *id = None;
        }
    }
    step.fee_product_ids
        .retain(|id| kind != FeeProduct || *id != gone);
}

#[cfg(test)]
mod tests {
    use engine::moment::Moment;
    use serde_json::{Map, Value};

    use super::super::step_type::StepType;
    use super::*;

    #[test]
    fn a_step_forgets_each_record_that_it_links() {
        let mut step = Step::default();
        let [first, second, third, fourth, fifth] = [1, 2, 3, 4, 5].map(Uuid::from_u128);
        step.charges.damage_waiver_payment_account_id = Some(first);
        step.charges.security_deposit_payment_account_id = Some(second);
        step.write_only.fees_payment_account_id = Some(third);
        step.write_only.background_check_account_id = Some(fourth);
        step.fee_product_ids = vec![fifth];
        let links = linked_records(&step);
        assert_eq!(links.len(), 5);
        // `first` is the id of a payment account, so deleting an image with this id removes no
        // link.
        forget_record(&mut step, RecordKind::Image, first);
        assert_eq!(linked_records(&step), links);
        for (kind, id) in links {
            forget_record(&mut step, kind, id);
        }
        assert!(linked_records(&step).is_empty());
    }

    #[test]
    fn fields_and_version_of_the_stored_list_item_change_together() {
        let step = Step::new(
            Uuid::nil(),
            StepType::YourDetails,
            "Details".into(),
            Moment(jiff::Timestamp::UNIX_EPOCH),
        );
        let item: Map<String, Value> = serde_json::from_str(&summary(&step).unwrap()).unwrap();
        let mut fields: Vec<_> = item.keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(
            (SUMMARY.version, fields.join(" ").as_str()),
            (
                1,
                "agreementType contractTemplateTextMlTextId damageDepositSubtitleMlTextId \
                    damageWaiverCapCents damageWaiverDepositAmountCents damageWaiverMinLos \
                    damageWaiverPaymentAccountId damageWaiverPricingBasis damageWaivers \
                    displayTitleMlTextId esignASubtitleMlTextId esignATemplateId \
                    esignATitleMlTextId esignBHeadingMlTextId esignBSubtitleMlTextId \
                    esignBTemplateId excludedSources feeProductIds id includedSourcesReturning \
                    inclusionType isActive isAlwaysShown isDamageWaiverEnabled \
                    isDamageWaiverWaivable isEnabled isMandatorySigning isManualReviewEnabled \
                    isReturningGuestExcluded isSecurityDepositEnabled leadTimeMaxDays \
                    leadTimeMinDays maxLos minLos nickname questions securityDepositAmountCents \
                    securityDepositDaysBeforeCheckin securityDepositPaymentAccountId \
                    securityDepositReleaseDaysAfterCheckout securityDepositSubtitleMlTextId \
                    sortOrder stepType updatedAt"
            ),
            "raise `SUMMARY.version`, so that stored list items are rewritten, and change this test"
        );
    }
}

//! Instructions that guests read before they arrive and on the day of arrival: those of the flat,
//! then of its group, then of its tags.

use std::collections::HashMap;

use engine::context::Context;
use engine::error::Result;
use engine::operation::Object;
use engine::values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::Json;
use uuid::Uuid;

use super::phase::Phase;
use super::stay::StayFlat;

/// Maximum number of instructions in the guest's view.
const MAX_INSTRUCTIONS: usize = 200;

store::statements! {
    /// Selects the instructions whose `scopeId` is one of `?2`, the lower-case ids of flats, groups
    /// and tags. The instructions are in the order of creation.
    OF_SCOPES = "select id, doc from record where organization_id = ?1 and kind = 'instruction'
        and lower(doc ->> 'scopeId') = any(?2)
        order by created_at, id";
    /// Selects tags in the order of creation.
    TAGS = "select id from record where organization_id = ?1 and kind = 'tag' and id = any(?2)
        order by created_at, id";
}

/// An instruction for a guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstructionView {
    /// Id of the record.
    pub id: Uuid,
    /// Title of the instruction, as the organization wrote it.
    pub title: String,
    /// The text below the title; null without a text.
    pub text: Option<String>,
    /// Https address of an image.
    pub image_url: Option<String>,
}

/// Loads the instructions of a flat in the order in which a guest reads them.
pub(super) fn load(context: &mut Context<'_, '_>, flat: &StayFlat) -> Result<Vec<InstructionView>> {
    let placement = &flat.placement;
    let mut scopes: Vec<Uuid> = [placement.property]
        .into_iter()
        .chain(placement.group)
        .collect();
    if placement.tags.len() > 1 {
        for row in context.rows(&TAGS, values![placement.tags.clone()])? {
            scopes.push(row.get(0)?);
        }
    } else {
        scopes.extend(placement.tags.iter().copied());
    }
    let names: Vec<String> = scopes.iter().map(Uuid::to_string).collect();
    let mut by_scope = HashMap::<Uuid, Vec<(f64, InstructionView)>>::new();
    for row in context.rows(&OF_SCOPES, values![names])? {
        let (id, Json(record)): (Uuid, Json<Object>) = (row.get(0)?, row.get(1)?);
        let scope = text(&record, "scopeId").and_then(|scope| scope.parse::<Uuid>().ok());
        if let Some(scope) = scope {
            // A platform may send any number as position, so positions are compared as floats.
            let position = record
                .get("position")
                .and_then(Value::as_f64)
                .unwrap_or(0.0);
            by_scope
                .entry(scope)
                .or_default()
                .push((position, instruction(id, &record)));
        }
    }
    let mut ordered = Vec::new();
    for scope in scopes {
        let mut instructions = by_scope.remove(&scope).unwrap_or_default();
        instructions.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        ordered.extend(instructions.into_iter().map(|(_, instruction)| instruction));
    }
    ordered.truncate(MAX_INSTRUCTIONS);
    Ok(ordered)
}

/// Returns whether the guest's view shows instructions in a phase of the stay.
pub(super) const fn shows_instructions(phase: Phase) -> bool {
    matches!(phase, Phase::Before | Phase::ArrivalDay)
}

fn instruction(id: Uuid, record: &Object) -> InstructionView {
    InstructionView {
        id,
        title: text(record, "title").unwrap_or_default(),
        text: text(record, "text").filter(|text| !engine::typed::is_blank(text)),
        image_url: text(record, "imageUrl").filter(|url| engine::format::is_https_url(url)),
    }
}

fn text(record: &Object, name: &str) -> Option<String> {
    record.get(name)?.as_str().map(str::to_owned)
}

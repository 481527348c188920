//! The operation `listShownTexts`, which lists the texts that guests read, and the resources that
//! show them. The list can be limited to texts that need translation.

use engine::access::Permission;
use engine::context::Context;
use engine::error::Result;
use engine::field::Language;
use engine::format;
use engine::operation::{CacheBasis, Listing, Needs, Operation, OperationName, Page, PageLimits};
use engine::values;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::Row;
use uuid::Uuid;

use super::{ENGLISH, SourceTable, texts, uses};

/// Lists the texts that guests read, grouped by the resource that shows them.
pub const LIST_SHOWN_TEXTS: OperationName<Vec<ShownText>> = OperationName::new("listShownTexts");

/// Selects the texts of a source table that resources show. Parameters can limit the selection to
/// some resources, and to texts without a current hand-written version in a language.
macro_rules! shown {
    ($what:literal, $rest:literal) => {
        concat!(
            "select ",
            $what,
            " from translation_use u join translation t on t.organization_id = u.organization_id
                and t.id = u.translation_id
                where u.organization_id = ?1 and t.organization_id = ?1 and t.source_table = ?2
                and (?3 or u.thing_id = any(?4))
                and (?5 or not exists (select 1 from translation_entry e
                where e.organization_id = ?1
                    and e.translation_id = u.translation_id and e.language = ?6
                    and e.is_machine_translated = false
                    and not exists (select 1 from translation_entry s where s.organization_id = ?1
                        and s.translation_id = u.translation_id and s.language = 'en'
                        and s.updated_at > e.updated_at)))",
            $rest
        )
    };
}

store::statements! {
    /// Selects the resources that show texts whose source table is `?2`, such as the titles of
    /// steps.
    THINGS = "select distinct u.thing_id from translation_use u
        join translation t on t.organization_id = u.organization_id and t.id = u.translation_id
        where u.organization_id = ?1 and t.organization_id = ?1 and t.source_table = ?2";
    /// Counts the texts that resources show.
    COUNT = shown!("count(*)", "");
    /// Selects a page of the texts that resources show, in the order of resources and fields.
    PAGE = shown!("u.translation_id, u.thing_id, u.field", "
        order by u.thing_id, u.field, u.translation_id limit ?7 offset ?8");
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListShownTexts {
    /// Kind of resource that shows the texts.
    source_table: SourceTable,
    /// Id of the resource that shows the texts. Left out: any resource. For a resource that shows
    /// no texts or is not visible, the list is empty.
    #[serde(default)]
    thing_id: Option<Uuid>,
    /// Language to read the texts in, as a BCP 47 tag. Left out: English.
    #[serde(default)]
    language: Option<Language>,
    /// Whether to list only texts whose version in this language is missing, machine-translated or
    /// outdated. Left out: `false`.
    #[serde(default)]
    is_unfinished: Option<bool>,
}

/// A text, and the field of a resource that shows it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({
    "id": "0192f0c1-2345-7abc-8def-0123456789ab",
    "thingId": "0192f0c1-2345-7abc-8def-0123456789ac",
    "field": "calloutMessageId",
    "language": "en",
    "text": "Welcome to Barcelona",
    "isMachineTranslated": false,
    "isOutdated": false,
}))]
pub struct ShownText {
    /// Id of the translation.
    pub id: Uuid,
    /// Id of the resource that shows the text.
    pub thing_id: Uuid,
    /// Name of the field that shows the text.
    pub field: String,
    /// Language of the text: the requested one, or the nearest available one.
    pub language: String,
    /// The text.
    pub text: String,
    /// Whether the text was translated by machine.
    pub is_machine_translated: bool,
    /// Whether the English text has changed since this text was written.
    pub is_outdated: bool,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::public(
            LIST_SHOWN_TEXTS.id(),
            Method::GET,
            "/translations/shown",
            Needs::Permission(Permission::ViewProperties),
        )
        .summary(
            "List the texts that guests read, by what shows them; those to be translated if wanted",
        )
        .rest_only()
        .cached(CacheBasis::Configuration)
        .pages_as(
            LIST_SHOWN_TEXTS,
            PageLimits {
                default: 50,
                max: 500,
            },
            list,
        ),
    ]
}

fn list(
    context: &mut Context<'_, '_>,
    input: ListShownTexts,
    page: Page,
) -> Result<Listing<ShownText>> {
    let language = input
        .language
        .and_then(|tag| format::language(&tag))
        .unwrap_or_else(|| ENGLISH.into());
    let (source, is_any) = (input.source_table, input.is_unfinished != Some(true));
    let is_limited = context.property_scope().is_limited();
    let is_whole = !is_limited && input.thing_id.is_none();
    let mut things: Vec<Uuid> = input.thing_id.into_iter().collect();
    if is_limited {
        if input.thing_id.is_none() {
            things = context
                .rows(&THINGS, values![source.as_ref()])?
                .iter()
                .map(|row| row.get(0))
                .collect::<store::Result<_>>()?;
        }
        things = uses::visible(context, source, things)?
            .into_iter()
            .collect();
    }
    let total = context.row(
        &COUNT,
        values![
            source.as_ref(),
            is_whole,
            things.clone(),
            is_any,
            language.as_str()
        ],
    )?;
    let params = values![
        source.as_ref(),
        is_whole,
        things,
        is_any,
        language.as_str(),
        page.limit,
        page.offset
    ];
    let from_row =
        |row: &Row| -> Result<(Uuid, Uuid, String)> { Ok((row.get(0)?, row.get(1)?, row.get(2)?)) };
    let text_uses = context
        .rows(&PAGE, params)?
        .iter()
        .map(from_row)
        .collect::<Result<Vec<_>>>()?;
    let texts = texts(context, text_uses.iter().map(|(id, ..)| *id), &language)?;
    let item = |(id, thing_id, field): (Uuid, Uuid, String)| {
        let (language, text) = (
            texts.language_of(id).unwrap_or(ENGLISH).to_owned(),
            texts.of(Some(id)).unwrap_or_default(),
        );
        ShownText {
            id,
            thing_id,
            field,
            language,
            text,
            is_machine_translated: texts.is_machine_translated(id),
            is_outdated: texts.is_outdated(id),
        }
    };
    let items = text_uses.into_iter().map(item).collect();
    Ok(Listing {
        items,
        total: total.map_or(Ok(0), |row| row.get(0))?,
    })
}

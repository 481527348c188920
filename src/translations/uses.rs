//! Which things show which texts, and what that asks of a text (contract: Settled since).
//!
//! A thing (a step, a manual, a category, a portal, a branding) notes the texts it links whenever it is written. Its chapter
//! says, by [`Shows`], what form the texts of its fields have, who sees and who may change its things, and what else stands
//! against a new text. Whatever writes or links a text that others may show asks here. The list of the chapters is in `lib.rs`.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use engine::context::Context;
use engine::error::{Error, Issue, PathSegment, Reason, Result};
use engine::values;
use uuid::Uuid;

use super::{Others, SourceTable, entries, put};

store::statements! {
    /// What some texts are of.
    SOURCES = "select id, source_table from translation where organization_id = ?1 and id = any(?2)";
    /// The length of the longest version of each of some texts, in characters.
    LENGTHS = "select translation_id, cast(max(length(text)) as bigint) from translation_entry
        where organization_id = ?1 and translation_id = any(?2) group by translation_id";
    /// What shows some texts.
    USES = "select translation_id, thing_id, field from translation_use where organization_id = ?1 and translation_id = any(?2)";
    /// Notes that a field of a thing shows some texts.
    INSERT = "insert into translation_use (organization_id, translation_id, thing_id, field)
        select organization_id, id, ?2, ?3 from translation where organization_id = ?1 and id = any(?4)";
    /// Forgets what a thing shows.
    DELETE = "delete from translation_use where organization_id = ?1 and thing_id = ?2";
}

/// The length of a text in a field that has none of its own, in characters.
pub(crate) const LONGEST: usize = 6_000;

/// What the text of a field has to keep to, in every language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form {
    /// Characters at the most.
    pub longest: usize,
    /// Whether the spaces around it go before anything else.
    pub is_trimmed: bool,
}

impl Form {
    /// Of a text as it is.
    pub(crate) const fn up_to(longest: usize) -> Self {
        Self { longest, is_trimmed: false }
    }

    /// Of a text without spaces around it.
    pub(crate) const fn trimmed_up_to(longest: usize) -> Self {
        Self { longest, is_trimmed: true }
    }

    /// What holds for a text that fills fields of both forms.
    fn and(self, other: Self) -> Self {
        Self { longest: self.longest.min(other.longest), is_trimmed: self.is_trimmed || other.is_trimmed }
    }

    /// The text as it is stored.
    fn of(self, text: &str) -> &str {
        if self.is_trimmed { text.trim() } else { text }
    }

    /// What is wrong with a text that is to be stored.
    fn fault(self, text: &str) -> Option<String> {
        if text.trim().is_empty() {
            return Some("must not be blank".into());
        }
        self.is_exceeded_by(text.chars().count()).then(|| format!("must have at most {} characters where it is shown", self.longest))
    }

    const fn is_exceeded_by(self, length: usize) -> bool {
        length > self.longest
    }
}

impl Default for Form {
    fn default() -> Self {
        Self::up_to(LONGEST)
    }
}

/// A field of a thing that shows a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    /// The thing.
    pub thing: Uuid,
    /// The name of the field that links the text.
    pub field: String,
}

/// A text that is about to be another.
#[derive(Debug)]
pub(crate) struct News<'n> {
    /// What shows it.
    pub uses: &'n [Use],
    /// The language it is written in.
    pub language: &'n str,
    /// As it will be stored.
    pub text: &'n str,
}

impl News<'_> {
    /// Whether it is written in English, of whatever region.
    pub(crate) fn is_english(&self) -> bool {
        super::is_english(self.language)
    }

    /// The things that show it in a field.
    pub(crate) fn things(&self, in_field: impl Fn(&str) -> bool) -> Vec<Uuid> {
        distinct(self.uses.iter().filter(|shown| in_field(&shown.field)).map(|shown| shown.thing))
    }
}

/// What a chapter says of the texts that its things show.
pub(crate) trait Shows: Send + Sync {
    /// What its texts are of. No two chapters have the same.
    fn sources(&self) -> &'static [SourceTable];

    /// What the text of a field has to keep to.
    fn form(&self, field: &str) -> Form;

    /// The things among these that a limited caller may know of.
    fn visible(&self, _: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        Ok(things.iter().copied().collect())
    }

    /// The things among these that a limited caller may change.
    fn writable(&self, _: &mut Context<'_, '_>, things: &[Uuid]) -> Result<HashSet<Uuid>> {
        Ok(things.iter().copied().collect())
    }

    /// 403 or 409: what stands against a new text of some of its things, besides reach and form.
    fn admit(&self, context: &mut Context<'_, '_>, news: &News<'_>) -> Result<()>;

    /// Notes a new text as a change of the things that it is a change of: those whose own operations write it as text.
    fn changed(&self, _: &mut Context<'_, '_>, _: &News<'_>) -> Result<()> {
        Ok(())
    }
}

/// The things that show texts of a source table, those among them that a limited caller may know of.
pub(super) fn visible(context: &mut Context<'_, '_>, source: SourceTable, things: Vec<Uuid>) -> Result<HashSet<Uuid>> {
    chapter(context, source)?.visible(context, &things)
}

/// The chapter whose things show the texts of a source table.
fn chapter(context: &Context<'_, '_>, source: SourceTable) -> Result<&'static dyn Shows> {
    let found = context.listed::<&'static dyn Shows>().iter().find(|chapter| chapter.sources().contains(&source));
    found.copied().ok_or_else(|| Error::internal("a source table that no chapter has"))
}

/// What a text is of; 404 where it is not there.
fn source(context: &mut Context<'_, '_>, id: Uuid) -> Result<SourceTable> {
    sources(context, vec![id])?.remove(&id).ok_or_else(not_found)
}

fn sources(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<HashMap<Uuid, SourceTable>> {
    let read = |row: &store::Row| -> Result<(Uuid, SourceTable)> {
        let source = row.get::<String>(1)?.parse().map_err(|_| Error::internal("a text of an unknown source table"))?;
        Ok((row.get(0)?, source))
    };
    context.rows(&SOURCES, values![ids])?.iter().map(read).collect()
}

/// What shows each of some texts; those that nothing shows are left out.
fn uses(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<HashMap<Uuid, Vec<Use>>> {
    let mut uses = HashMap::<Uuid, Vec<Use>>::new();
    for row in context.rows(&USES, values![ids])? {
        uses.entry(row.get(0)?).or_default().push(Use { thing: row.get(1)?, field: row.get(2)? });
    }
    Ok(uses)
}

fn uses_of(context: &mut Context<'_, '_>, id: Uuid) -> Result<Vec<Use>> {
    Ok(uses(context, vec![id])?.remove(&id).unwrap_or_default())
}

/// What all the fields that show a text ask of it; that of any text, where nothing shows it.
fn form(chapter: &dyn Shows, uses: &[Use]) -> Form {
    uses.iter().fold(Form::default(), |form, shown| form.and(chapter.form(&shown.field)))
}

fn not_found() -> Error {
    Error::not_found("Translation")
}

fn distinct(ids: impl Iterator<Item = Uuid>) -> Vec<Uuid> {
    ids.collect::<BTreeSet<_>>().into_iter().collect()
}

/// 404 for a text that is not there, or that is shown by nothing that the caller may know of. One that nothing shows yet is
/// the organization's, and everybody's to read and write.
pub(super) fn check_readable(context: &mut Context<'_, '_>, id: Uuid) -> Result<()> {
    let source = source(context, id)?;
    let chapter = chapter(context, source)?;
    if !context.reach().is_limited() {
        return Ok(());
    }
    let things = distinct(uses_of(context, id)?.into_iter().map(|shown| shown.thing));
    if things.is_empty() || !chapter.visible(context, &things)?.is_empty() { Ok(()) } else { Err(not_found()) }
}

/// The texts among these that a limited caller may read, as [`check_readable`] says it of one.
pub(super) fn readable(context: &mut Context<'_, '_>, ids: &[Uuid]) -> Result<HashSet<Uuid>> {
    let sources = sources(context, ids.to_vec())?;
    let mut shown: HashMap<Uuid, Vec<Uuid>> = HashMap::new();
    for row in context.rows(&USES, values![ids.to_vec()])? {
        shown.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    let mut by_chapter: BTreeMap<SourceTable, Vec<Uuid>> = BTreeMap::new();
    for (id, things) in &shown {
        if let Some(source) = sources.get(id) {
            by_chapter.entry(*source).or_default().extend(things);
        }
    }
    let mut visible = HashSet::new();
    for (source, things) in by_chapter {
        visible.extend(chapter(context, source)?.visible(context, &distinct(things.into_iter()))?);
    }
    let is_readable = |id: &Uuid| shown.get(id).is_none_or(|things| things.iter().any(|thing| visible.contains(thing)));
    Ok(sources.into_keys().filter(is_readable).collect())
}

/// A text that a thing links, or is to link.
#[derive(Debug, Clone)]
pub(crate) struct Link<'l> {
    /// Where it stands in the request.
    pub path: Vec<PathSegment>,
    /// The text.
    pub id: Uuid,
    /// What it has to be of.
    pub source: SourceTable,
    /// The field that links it.
    pub field: &'l str,
    /// Whether the thing links it there already.
    pub is_kept: bool,
}

/// What is wrong with linking some texts: one of another source table, one that is too long for the field. 404 where one is
/// not there, or is shown by nothing that the caller may know of. What is linked already is not judged anew.
pub(crate) fn wrong_links(context: &mut Context<'_, '_>, links: &[Link<'_>]) -> Result<Vec<Issue>> {
    if links.is_empty() {
        return Ok(Vec::new());
    }
    let sources = sources(context, distinct(links.iter().map(|link| link.id)))?;
    if links.iter().any(|link| !sources.contains_key(&link.id)) {
        return Err(not_found());
    }
    let new = distinct(links.iter().filter(|link| !link.is_kept).map(|link| link.id));
    check_known(context, &new, &sources)?;
    let lengths = lengths(context, new)?;
    let mut issues = Vec::new();
    for Link { path, id, source, field, is_kept } in links {
        let form = chapter(context, *source)?.form(field);
        let reason = if sources.get(id) != Some(source) {
            Reason::rule("other_source", format!("is not a {} translation", source.as_ref()))
        } else if !is_kept && lengths.get(id).is_some_and(|length| form.is_exceeded_by(*length)) {
            Reason::rule("too_long_version", format!("has a version of more than {} characters", form.longest))
        } else {
            continue;
        };
        issues.push(Issue::at(path.clone(), reason));
    }
    Ok(issues)
}

/// 404 for a text that is shown by nothing that a limited caller may know of.
fn check_known(context: &mut Context<'_, '_>, ids: &[Uuid], sources: &HashMap<Uuid, SourceTable>) -> Result<()> {
    if ids.is_empty() || !context.reach().is_limited() {
        return Ok(());
    }
    let uses = uses(context, ids.to_vec())?;
    let mut by_source = BTreeMap::<SourceTable, Vec<&[Use]>>::new();
    for (id, uses) in &uses {
        if let Some(source) = sources.get(id) {
            by_source.entry(*source).or_default().push(uses);
        }
    }
    for (source, texts) in by_source {
        let things = distinct(texts.iter().flat_map(|uses| uses.iter()).map(|shown| shown.thing));
        let visible = chapter(context, source)?.visible(context, &things)?;
        if texts.iter().any(|uses| uses.iter().all(|shown| !visible.contains(&shown.thing))) {
            return Err(not_found());
        }
    }
    Ok(())
}

fn lengths(context: &mut Context<'_, '_>, ids: Vec<Uuid>) -> Result<HashMap<Uuid, usize>> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = context.rows(&LENGTHS, values![ids])?;
    rows.iter().map(|row| Ok((row.get(0)?, usize::try_from(row.get::<i64>(1)?).unwrap_or(usize::MAX)))).collect()
}

/// Notes which texts a thing links now, each with the name of its field, where it linked others before; what is new linked none.
pub(crate) fn note_links<'l>(
    context: &mut Context<'_, '_>,
    thing: Uuid,
    before: impl IntoIterator<Item = (&'l str, Option<Uuid>)>,
    now: impl IntoIterator<Item = (&'l str, Option<Uuid>)>,
) -> Result<()> {
    let (before, now) = (linked(before), linked(now));
    if before == now {
        return Ok(());
    }
    if !before.is_empty() {
        context.execute_along(&DELETE, values![thing])?;
    }
    let mut by_field = BTreeMap::<&str, Vec<Uuid>>::new();
    for (field, id) in now {
        by_field.entry(field).or_default().push(id);
    }
    for (field, ids) in by_field {
        context.execute_along(&INSERT, values![thing, field, ids])?;
    }
    Ok(())
}

fn linked<'l>(links: impl IntoIterator<Item = (&'l str, Option<Uuid>)>) -> BTreeSet<(&'l str, Uuid)> {
    links.into_iter().filter_map(|(field, id)| Some((field, id?))).collect()
}

/// A text that may be written: whatever stands against that has been looked at.
pub(crate) struct Writing {
    id: Uuid,
    language: String,
    text: String,
    chapter: &'static dyn Shows,
    /// What shows it, but for the thing whose operation writes it.
    uses: Vec<Use>,
    is_news: bool,
}

/// Who writes a text, and where it stands in the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writer<'w> {
    /// The thing whose operation writes a text of its own. That operation judges for it, and notes the change.
    pub thing: Option<Uuid>,
    /// Where the text stands in the request.
    pub path: &'w [&'w str],
}

impl Writing {
    /// A text that is to be written by hand in a language. The version that stands there already, written by hand, is no news,
    /// and nothing stands against that.
    ///
    /// 404 for a text that is not there, and for one that is shown only by things that a limited caller may not change; 403
    /// where they may change some of these things and not all, and where a permission lacks; 409 as the things themselves
    /// have it; 400 for a text that does not have the form of every field that shows it.
    pub(crate) fn judged(context: &mut Context<'_, '_>, id: Uuid, language: &str, text: &str, writer: Writer<'_>) -> Result<Self> {
        let source = source(context, id)?;
        let chapter = chapter(context, source)?;
        let mut uses = uses_of(context, id)?;
        let form = form(chapter, &uses);
        uses.retain(|shown| Some(shown.thing) != writer.thing);
        let is_shared = lacks_some(context, chapter, &uses, writer)?;
        let text = form.of(text).to_owned();
        let stored = entries(context, id)?.into_iter().find(|entry| entry.language == language);
        let is_news = stored.is_none_or(|stored| stored.text != text || stored.is_machine_translated);
        if is_news {
            if is_shared {
                return Err(Error::forbidden(Reason::rule("text_shown_elsewhere", "The text is also shown by what you cannot change.")));
            }
            if !uses.is_empty() {
                chapter.admit(context, &News { uses: &uses, language, text: &text })?;
            }
            if let Some(fault) = form.fault(&text) {
                return Err(Error::invalid(writer.path, fault));
            }
        }
        Ok(Self { id, language: language.to_owned(), text, chapter, uses, is_news })
    }

    /// Whether it differs from what is stored.
    pub(crate) fn is_news(&self) -> bool {
        self.is_news
    }

    /// Writes it, with what `others` says of its other languages, and notes it as a change of what shows it.
    pub(crate) fn carry_out(self, context: &mut Context<'_, '_>, others: Others) -> Result<()> {
        let Self { id, language, text, chapter, uses, is_news } = self;
        put(context, id, &language, &text, others)?;
        if is_news { chapter.changed(context, &News { uses: &uses, language: &language, text: &text }) } else { Ok(()) }
    }
}

/// Whether things that a limited caller may not change show a text as well; 404 where no other things do.
fn lacks_some(context: &mut Context<'_, '_>, chapter: &dyn Shows, uses: &[Use], writer: Writer<'_>) -> Result<bool> {
    let things = distinct(uses.iter().map(|shown| shown.thing));
    if things.is_empty() || !context.reach().is_limited() {
        return Ok(false);
    }
    let writable = chapter.writable(context, &things)?;
    if writable.is_empty() && writer.thing.is_none() {
        return Err(not_found());
    }
    Ok(things.iter().any(|thing| !writable.contains(thing)))
}

/// What a machine made of a text, as it may be stored: `None` where it is too long for a field that shows it.
pub(super) fn fitting(context: &mut Context<'_, '_>, id: Uuid, text: &str) -> Result<Option<String>> {
    let source = source(context, id)?;
    let chapter = chapter(context, source)?;
    let form = form(chapter, &uses_of(context, id)?);
    let text = form.of(text);
    Ok(form.fault(text).is_none().then(|| text.to_owned()))
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn several_fields_ask_for_the_strictest() {
        let (title, body) = (Form::trimmed_up_to(3), Form::up_to(5));
        assert_eq!(title.and(body), title);
        assert_eq!(body.and(title), title);
        // Text, under the first, under the second: what is stored, and whether it may be.
        for (text, first, second) in [
            ("abc", Some("abc"), Some("abc")),
            (" abc\u{a0}", Some("abc"), Some(" abc\u{a0}")),
            ("abcd", None, Some("abcd")),
            ("\u{1F3E0}\u{1F3E0}\u{1F3E0}", Some("\u{1F3E0}\u{1F3E0}\u{1F3E0}"), Some("\u{1F3E0}\u{1F3E0}\u{1F3E0}")),
            (" abcd ", None, None),
            ("  ", None, None),
        ] {
            for (form, expected) in [(title, first), (body, second)] {
                let stored = form.of(text);
                assert_eq!(form.fault(stored).is_none().then_some(stored), expected, "{text:?}");
            }
        }
    }
}

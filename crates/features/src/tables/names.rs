//! Finds the records to which the cells of a CSV file refer: by name, by id, or by the external id
//! of an earlier import.

use std::collections::{BTreeSet, HashMap};

use engine::context::Context;
use engine::error::Result;
use engine::field::fold_case;
use engine::values;
use uuid::Uuid;

use crate::records::RecordKind;

store::statements! {
    /// Selects the id and the name of each record of a kind.
    ALL = "select id, doc ->> 'name' from record where organization_id = ?1 and kind = ?2";
}

/// The records to which cells can refer, by id and by name.
#[derive(Debug, Default)]
pub(super) struct RecordLookup {
    organization: Uuid,
    ids: BTreeSet<(RecordKind, Uuid)>,
    by_name: HashMap<(RecordKind, String), Vec<Uuid>>,
}

impl RecordLookup {
    /// Reads all records of these kinds, so that [`RecordLookup::find`] finds them.
    pub(super) fn load(context: &mut Context<'_, '_>, kinds: BTreeSet<RecordKind>) -> Result<Self> {
        let mut names = Self {
            organization: context.organization.id,
            ..Self::default()
        };
        for kind in kinds {
            for row in context.rows(&ALL, values![kind.as_ref()])? {
                let (id, name): (Uuid, Option<String>) = (row.get(0)?, row.get(1)?);
                names.ids.insert((kind, id));
                let name = normalized(name.as_deref().unwrap_or_default());
                if !name.is_empty() {
                    names.by_name.entry((kind, name)).or_default().push(id);
                }
            }
        }
        Ok(names)
    }

    /// Finds the record to which a cell refers, among the records of these kinds. Returns the
    /// record's id, or the error message.
    pub(super) fn find(
        &self,
        kinds: impl IntoIterator<Item = RecordKind, IntoIter: Clone>,
        cell: &str,
    ) -> Result<Uuid, String> {
        let kinds = kinds.into_iter();
        if let Ok(id) = cell.parse::<Uuid>()
            && kinds.clone().any(|kind| self.ids.contains(&(kind, id)))
        {
            return Ok(id);
        }
        let name = normalized(cell);
        let matches = kinds
            .clone()
            .filter_map(|kind| self.by_name.get(&(kind, name.clone())))
            .flatten();
        let matches: Vec<Uuid> = matches.copied().collect();
        let kind_names = kinds
            .clone()
            .map(|kind| kind.label().to_lowercase())
            .collect::<Vec<_>>()
            .join(" or ");
        match matches[..] {
            [id] => Ok(id),
            [] => kinds
                .map(|kind| (kind, id_of_external_id(self.organization, kind, cell)))
                .find(|id| self.ids.contains(id))
                .map(|(_, id)| id)
                .ok_or_else(|| format!("no {kind_names} is named {cell:?}")),
            _ => Err(format!(
                "{} records are named {cell:?}; name the {kind_names} by its id",
                matches.len()
            )),
        }
    }
}

/// Returns the id of the record with an external id. It is derived from the external id, so that
/// every import finds the same record.
pub(super) fn id_of_external_id(organization: Uuid, kind: RecordKind, external_id: &str) -> Uuid {
    Uuid::new_v5(
        &organization,
        format!("{}:{external_id}", kind.as_ref()).as_bytes(),
    )
}

fn normalized(name: &str) -> String {
    fold_case(name.trim())
}

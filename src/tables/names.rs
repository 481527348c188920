//! Finds the records that the cells of a table name: by name, by id, or by the external id of an
//! earlier table.

use std::collections::{BTreeSet, HashMap};

use engine::context::Context;
use engine::error::Result;
use engine::field::case_folded;
use engine::values;
use uuid::Uuid;

use crate::records::RecordKind;

store::statements! {
    /// Ids and names of all records of a kind.
    ALL = "select id, doc ->> 'name' from record where organization_id = ?1 and kind = ?2";
}

/// The kinds of places that an instruction can be for.
pub(super) const PLACES: [RecordKind; 3] = [
    RecordKind::Property,
    RecordKind::PropertyGroup,
    RecordKind::Tag,
];

/// The records that cells can name.
#[derive(Debug, Default)]
pub(super) struct CellNames {
    organization: Uuid,
    ids: BTreeSet<(RecordKind, Uuid)>,
    named: HashMap<(RecordKind, String), Vec<Uuid>>,
}

impl CellNames {
    /// Reads the records of these kinds.
    pub(super) fn load(context: &mut Context<'_, '_>, kinds: BTreeSet<RecordKind>) -> Result<Self> {
        let mut names = Self {
            organization: context.organization.id,
            ..Self::default()
        };
        for kind in kinds {
            for row in context.rows(&ALL, values![kind.as_ref()])? {
                let (id, name): (Uuid, Option<String>) = (row.get(0)?, row.get(1)?);
                names.ids.insert((kind, id));
                let name = compared(name.as_deref().unwrap_or_default());
                if !name.is_empty() {
                    names.named.entry((kind, name)).or_default().push(id);
                }
            }
        }
        Ok(names)
    }

    /// Returns the record of one of these kinds that a cell names, or the reason why there is none.
    pub(super) fn find(&self, kinds: &[RecordKind], cell: &str) -> Result<Uuid, String> {
        if let Ok(id) = cell.parse::<Uuid>()
            && kinds.iter().any(|kind| self.ids.contains(&(*kind, id)))
        {
            return Ok(id);
        }
        let wanted = compared(cell);
        let found = kinds
            .iter()
            .filter_map(|kind| self.named.get(&(*kind, wanted.clone())))
            .flatten();
        let found: Vec<Uuid> = found.copied().collect();
        let what = kinds
            .iter()
            .map(|kind| kind.label().to_lowercase())
            .collect::<Vec<_>>()
            .join(" or ");
        match found[..] {
            [id] => Ok(id),
            [] => {
                let ids = kinds
                    .iter()
                    .map(|kind| (*kind, id_of(self.organization, *kind, cell)));
                let known = ids.into_iter().find(|known| self.ids.contains(known));
                known
                    .map(|(_, id)| id)
                    .ok_or_else(|| format!("no {what} is named {cell:?}"))
            }
            _ => Err(format!(
                "{} records are named {cell:?}; name the {what} by its id",
                found.len()
            )),
        }
    }
}

/// Returns the id of the record with an external id, the same each time.
pub(super) fn id_of(organization: Uuid, kind: RecordKind, external_id: &str) -> Uuid {
    Uuid::new_v5(
        &organization,
        format!("{}:{external_id}", kind.as_ref()).as_bytes(),
    )
}

fn compared(name: &str) -> String {
    case_folded(name.trim())
}

//! What chapters say of records that are gone, or that name others than before; called in the transaction that removes or
//! changes them, in the order of the chapters.

use engine::context::Context;
use engine::error::Result;
use uuid::Uuid;

use super::Kind;

/// Does away with what hangs on records of a kind that are gone.
pub(crate) struct OnGone(pub fn(&mut Context<'_, '_>, Kind, &[Uuid]) -> Result<()>);

/// A thing, and a record that it links and that is gone.
pub(crate) type Gone = (Uuid, Kind, Uuid);

/// Things that link records, and are told which of these are gone.
pub(crate) struct Linking {
    /// What their links are filed under.
    pub filed_as: &'static str,
    /// Takes out of things what links records that are gone: which thing, and which record.
    pub forget: fn(&mut Context<'_, '_>, &[Gone]) -> Result<()>,
}

/// Notes what records of a kind name, which may be others than before; they are written already.
pub(crate) struct OnRelinked(pub fn(&mut Context<'_, '_>, Kind, &[Uuid]) -> Result<()>);

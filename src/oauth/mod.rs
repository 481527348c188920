//! OAuth.
use engine::chapter::Chapter;
/// The authorization server.
pub(crate) static CHAPTER: Chapter = Chapter::new("oauth");

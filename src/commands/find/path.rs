//! Resolves a path to a session: a session's own file or directory, or an app's directory with a pointer.

use std::path::{Path, PathBuf};

use super::copies::{holds, take_copy};
use super::{Finder, SelectorTarget};
use crate::agent::{self, PointerWriter};
use crate::error::{Refusal, RefusalCode};
use crate::scan;
use crate::session::select::{self, CopySelector, SortKey};
use crate::session::{Located, Pointer, SessionKind};
use crate::system::reach;

impl Finder<'_> {
    /// Finds the session that is stored at a path, or that an app's pointer names.
    pub(super) fn by_path(&mut self, path: &Path) -> anyhow::Result<SelectorTarget> {
        let Self { filter, scope: requested, env, .. } = *self;
        for writer in agent::pointer_writers() {
            let app_dir = match path.file_name() {
                Some(name) if name == writer.file_name() => path.parent().unwrap_or(path),
                _ => path,
            };
            if let Some(pointer) = writer.pointer_in(app_dir, env)? {
                return self.by_pointer(*writer, pointer);
            }
        }
        let Ok(path) = reach::canonicalize(path) else {
            return Err(Refusal::new(RefusalCode::NotFound, format!("{} does not exist", path.display())).into());
        };
        let mut places = scan::locate(env, &filter.agents);
        if !places.places.iter().any(|place| holds(place, &path)) {
            // Some agents have no other id than the path.
            places = scan::locate_id(env, &filter.agents, &path.to_string_lossy());
        }
        // A sub-agent's file is in the directory of its parent session, so the deepest path wins.
        let holding = places.places.iter().filter(|place| holds(place, &path));
        let named = holding.max_by_key(|place| place.path.components().count()).cloned();
        let Some(named) = named else {
            let refusal = Refusal::new(RefusalCode::NotFound, format!("no session is stored at {}", path.display()));
            let hint = if reach::is_dir(&path) == Some(true) {
                format!(
                    "run `rejoin list --dir {}` to see the sessions that were started there",
                    crate::format::shell::word(&path.to_string_lossy())
                )
            } else {
                "for stores elsewhere, name their home directory with --home DIR".to_owned()
            };
            return Err(refusal.hint(hint).into());
        };
        let in_it = places.places.iter().filter(|place| place.path == named.path).count();
        if in_it > 1 {
            let message = format!("{} holds {in_it} sessions", named.path.display());
            let hint = format!("use the id of one; run `rejoin list --agent {}` to see them", named.agent());
            return Err(Refusal::new(RefusalCode::Ambiguous, message).hint(hint).into());
        }
        let key = (named.agent(), &*named.id);
        let mut session = super::the_only(places, key, requested, env)?;
        if session.copies.len() > 1 {
            take_copy(&mut session, &CopySelector::Path(named.path.to_path_buf()), env)?;
        }
        Ok(SelectorTarget::Session(Box::new(session)))
    }

    /// Finds the session whose id is the path of a file in a directory; tables show the directory as its short id.
    pub(super) fn by_dir_of_id(&self, dir: &Path) -> Option<SelectorTarget> {
        let Self { filter, scope: requested, env, .. } = *self;
        let dir = reach::canonicalize(dir).ok()?;
        let places = scan::locate_id(env, &filter.agents, dir.to_str()?);
        let mut named = places.places.iter().filter(|place| select::dir_of(&place.id) == dir.to_str()).cloned();
        let (Some(place), None) = (named.next(), named.next()) else { return None };
        let session = super::the_only(places, (place.agent(), &place.id), requested, env).ok()?;
        Some(SelectorTarget::Session(Box::new(session)))
    }

    /// Follows a pointer: to the stored id in any place of its agent, else to the directory's newest session.
    fn by_pointer(&mut self, writer: &dyn PointerWriter, pointer: Pointer) -> anyhow::Result<SelectorTarget> {
        let Self { scope: requested, env, ref mut ui, .. } = *self;
        let owner = pointer.agent.session_owner();
        let places = scan::locate(env, &[owner]);
        match &pointer.session_id {
            Some(id) if places.places.iter().any(|place| place.id == *id) => {
                ui.print_note(&format!("{} points to {owner} session {id}.", pointer.path.display()));
                let mut session = super::the_only(places, (owner, id), requested, env)?;
                scan::tie(&mut session, pointer);
                return Ok(SelectorTarget::Session(Box::new(session)));
            }
            Some(id) => {
                let title = agent::about(owner).title;
                ui.print_note(&format!(
                    "{} points to {id}, but no project of {title} has that session.",
                    pointer.path.display()
                ));
            }
            None => ui.print_note(&format!("{} names no session.", pointer.path.display())),
        }
        let app_dirs: Vec<PathBuf> = crate::commands::directory_names(&pointer.dir, env);
        let is_of_app = |place: &Located| {
            let Some(project) = place.project.as_deref() else { return false };
            !place.is_subagent && app_dirs.iter().any(|dir| writer.may_be_filed_under(project, dir))
        };
        let mut sessions = places.read_some(env, requested, is_of_app).sessions;
        sessions.retain(|session| {
            session.copy().transcript_bytes >= writer.meaningful_bytes()
                && !matches!(session.copy().kind, SessionKind::Empty | SessionKind::Subagent)
        });
        select::sort(&mut sessions, SortKey::Active, false);
        match sessions.into_iter().next() {
            Some(session) => {
                ui.print_note(&format!(
                    "Taking the newest session of {} instead: {}.",
                    pointer.dir.display(),
                    session.id()
                ));
                Ok(SelectorTarget::Session(Box::new(session)))
            }
            None => {
                ui.print_note(&format!(
                    "{} has no session of at least {} bytes either.",
                    pointer.dir.display(),
                    writer.meaningful_bytes()
                ));
                Ok(SelectorTarget::LostApp(pointer))
            }
        }
    }
}

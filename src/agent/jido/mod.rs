//! JidoCode: `~/.jido_code/sessions/<uuid>.json`, one signed JSON document per session.
//!
//! A session is on disk only while it is closed: closing writes the file, resuming deletes it. Facts:
//! agentjido/jido_code 03efe8eb.

pub(crate) mod records;
pub mod signature;

pub(super) mod about;
mod encode_error;
mod encoder;
pub(crate) mod keys;
mod relocation;

use super::upkeep::{Strays, is_own_temporary, temporary_in};
use crate::agent::ids::is_random_uuid;
use crate::agent::prelude::*;
use crate::session::branches::BranchFilter;
use records::{JidoSession, LoadError, MAX_FILE_BYTES};

/// The file of the machine's secret, in JidoCode's directory.
pub(crate) const SECRET_FILE: &str = "machine_secret";
/// Limits for the machine's secret, which has 64 characters; JidoCode creates a new one if it is shorter than 32.
const MAX_SECRET: u64 = 4096;
const SHORTEST_SECRET: usize = 32;

/// The problems for which JidoCode refuses to load a session; such a session cannot be resumed.
const REFUSED: [Health; 5] = [
    Health::Oversize,
    Health::MissingFields,
    Health::UnsupportedVersion,
    Health::InvalidContent,
    Health::SignatureInvalid,
];

/// Implements [`Agent`](super::Agent) for JidoCode.
pub(super) struct Jido;

impl Reading for Jido {
    fn engine(&self) -> &'static dyn Engine {
        &Self
    }
}

impl Engine for Jido {
    fn locate(&self, store: &Arc<Store>, only: Option<&str>) -> Found {
        let mut found = Found::default();
        found.add_files(store, &store.root.join("sessions"), None, ".json", only, &is_random_uuid);
        found
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let (file, metadata) = fsio::open_regular(&place.path)?;
        let mut copy = SessionCopy::new(place);
        (copy.size_bytes, copy.transcript_bytes) = (metadata.len(), metadata.len());
        if metadata.len() > MAX_FILE_BYTES {
            refuse(&mut copy, &LoadError::FileTooLarge);
        } else {
            let bytes = fsio::read_opened(file, &metadata, &copy.place.path, MAX_FILE_BYTES)?;
            let session = records::document(&bytes).and_then(|document| {
                // Even a refused session has a name and a directory that are useful to the user.
                describe(&mut copy, document, context.env);
                records::parse_document(document)
            });
            match session {
                Ok(session) => {
                    fill(&mut copy, &session);
                    if session.is_signed && !REFUSED.iter().any(|refused| copy.health.contains(*refused)) {
                        keys::check_signature(&bytes, &mut copy, context.env);
                    }
                }
                Err(error) => refuse(&mut copy, &error),
            }
        }
        copy.set_active_by_file(metadata.modified().ok().and_then(|time| time.try_into().ok()));
        decide_launch_dir(&mut copy);
        Ok(copy)
    }

    fn observe(&self, copy: &mut SessionCopy, observers: &mut Observers) -> Result<(), PathError> {
        self.messages(copy, &mut |message| {
            let is_reply = message.role == Role::Assistant && !message.text.trim().is_empty();
            observers.count(message.role == Role::User, is_reply);
            observers.see([&message]);
            ControlFlow::Continue(())
        })?;
        observers.finish(copy);
        Ok(())
    }

    fn messages_on(&self, copy: &SessionCopy, _wanted: BranchFilter, see: &mut Visitor<'_>) -> Result<(), PathError> {
        if copy.transcript_bytes > MAX_FILE_BYTES {
            return Ok(());
        }
        let bytes = fsio::read_bounded(&copy.place.path, MAX_FILE_BYTES)?;
        let Ok(session) = records::parse(&bytes) else { return Ok(()) };
        // This is the last message, so a break needs no handling.
        let _ = session.messages.into_iter().try_for_each(see);
        Ok(())
    }

    fn transcript(&self, place: &Located) -> Option<PathBuf> {
        Some(place.path.to_path_buf())
    }
}

impl Resuming for Jido {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        if let Some(refused) = REFUSED.iter().find(|refused| copy.health.contains(**refused)) {
            return Err(copy.notes.first().map_or(refused.meaning(), String::as_str).into());
        }
        refuse_prompt(prompt, "JidoCode cannot take a prompt without a terminal")?;
        // JidoCode accepts no id on its command line; its own command resumes.
        let then_type = Some(format!("/resume {}", copy.place.id));
        Ok(Command { then_type, ..Command::new(&["jido_code"], Vec::new()) })
    }
}

impl Moving for Jido {
    fn relocation<'a>(&'a self, moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        Ok(Self::move_sessions(moving.store, moving.env))
    }
}

impl Housekeeping for Jido {
    fn orphans(&self, store: &Store, _env: &Env) -> Strays {
        let mut found = Found::default();
        // JidoCode writes `<id>.json.tmp` and renames it.
        let is_temporary =
            |name: &str| name.strip_suffix(".json.tmp").is_some_and(is_random_uuid) || is_own_temporary(name);
        let mut orphans = temporary_in(&store.root.join("sessions"), AgentKind::Jido, &mut found, is_temporary);
        // The secret is next to the sessions.
        orphans.extend(temporary_in(&store.root, AgentKind::Jido, &mut found, is_own_temporary));
        Strays { orphans, problems: found.problems }
    }
}

/// Returns JidoCode's directory.
pub(crate) fn root(env: &Env) -> PathBuf {
    env.home.join(".jido_code")
}

/// Returns the file of a session.
pub(crate) fn file_of(root: &Path, id: &str) -> PathBuf {
    root.join("sessions").join(format!("{id}.json"))
}

/// Returns the secret like JidoCode: untrimmed, and only if it is long enough.
pub(crate) fn machine_secret(root: &Path) -> Option<String> {
    let bytes = fsio::read_bounded(&root.join(SECRET_FILE), MAX_SECRET).ok()?;
    String::from_utf8(bytes).ok().filter(|secret| secret.len() >= SHORTEST_SECRET)
}

/// Returns the host name without its domain, like Erlang's `inet:gethostname`.
pub(crate) fn short_name(hostname: &str) -> &str {
    hostname.split('.').next().filter(|name| !name.is_empty()).unwrap_or("localhost")
}

/// Fills in the fields that are shown even for a file that JidoCode refuses.
fn describe(copy: &mut SessionCopy, document: &str, env: &Env) {
    const NAMES: [&str; 6] = ["id", "name", "project_path", "closed_at", "updated_at", "created_at"];
    let members = records::fields(document, NAMES).unwrap_or_default();
    let texts = members.map(|json| records::string(json?).ok().flatten());
    let [id, name, project_path, closed, updated, created] = texts.each_ref().map(Option::as_deref);
    let is_filled = |text: &&str| !text.trim().is_empty();
    let time = |text: Option<&str>, source| Some(Fact::new(records::instant(text?)?, source));
    copy.title = name.filter(is_filled).map(|name| Fact::new(name.to_owned(), "name"));
    if let Some(path) = project_path.filter(is_filled) {
        let dir = env.expand(Path::new(path));
        copy.start_dir = Some(Fact::new(dir.clone(), "session"));
        copy.last_dir = copy.start_dir.clone();
        let detail = "project_path".into();
        copy.evidence.push(Evidence { dir: dir.into(), source: "session", detail, counts: true });
    }
    copy.created_at = time(created, "created_at");
    copy.active_at = time(closed, "closed_at").or_else(|| time(updated, "updated_at"));
    if let Some(id) = id.filter(|id| *id != copy.place.id) {
        copy.notes.push(format!("its content says that its id is {id}"));
        copy.health.insert(Health::InvalidContent);
    }
}

fn fill(copy: &mut SessionCopy, session: &JidoSession) {
    let prompt = session.messages.iter().find(|message| message.role == Role::User);
    copy.first_prompt = prompt.map(|message| Fact::new(&*message.text, "conversation"));
    copy.model = session.model.as_deref().map(|model| Fact::new(model, "config"));
    copy.mark_if(!session.is_signed, Health::Unsigned);
    if !session.messages.iter().any(|message| matches!(message.role, Role::User | Role::Assistant)) {
        copy.be_empty();
    }
}

/// Records JidoCode's own reason for not loading a session.
fn refuse(copy: &mut SessionCopy, error: &LoadError) {
    copy.health.insert(match error {
        LoadError::FileTooLarge => Health::Oversize,
        LoadError::MissingFields(_) => Health::MissingFields,
        LoadError::UnsupportedVersion => Health::UnsupportedVersion,
        _ => Health::InvalidContent,
    });
    copy.notes.insert(0, error.to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_host_name_drops_the_domain() {
        assert_eq!(short_name("build-7.example.org"), "build-7");
        assert_eq!(short_name("examplehost"), "examplehost");
        assert_eq!(short_name(""), "localhost");
    }
}

//! Restores a session that was in a database: its agent imports it, or a file is written with instructions for it.
//!
//! rejoin does not write to the database.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::follow;
use crate::agent::{self, Agent, AgentManaged};
use crate::archive::store::Holdings;
use crate::archive::unpacked::UnpackedSession;
use crate::archive::{Archive, Manifest, rows};
use crate::change::apply::state_dir;
use crate::change::outcome::{ChangeOutcome, ItemResult};
use crate::change::plan::change::{Change, ChangeItem, ItemSubject};
use crate::cli::RestoreArgs;
use crate::commands::change;
use crate::error::{Exit, PathError, Refusal, RefusalCode};
use crate::format::shell;
use crate::format::sqlite::rows::script;
use crate::launch::agent_command::{AgentCommand, AgentCommandError};
use crate::scan::{self, Places, ScanScope};
use crate::session::{Located, Store};
use crate::system::disk::{self, Access};
use crate::system::env::{Env, ProgramSearch};
use crate::system::reach;
use crate::view::render::json::change::{ChangeReport, ReportExtras};
use crate::view::ui::Ui;

/// Maximum length of an id in the name of a file.
const MAX_NAME: usize = 100;

/// A session to return to its agent's database.
struct Return<'a> {
    manifest: &'a Manifest,
    archive: &'a Archive,
    agent: &'static dyn Agent,
    agent_managed: &'static AgentManaged,
    /// The store into which the agent imports the session.
    store: Store,
    /// The database that the manifest names, if it is not one of the agent's here.
    foreign: Option<PathBuf>,
    /// The directory that the session belongs to.
    dir: Option<PathBuf>,
    /// Set if the user names that directory.
    is_dir_named: bool,
}

/// Restores a session and its sub-agents.
pub(super) fn run(
    args: &RestoreArgs,
    manifest: &Manifest,
    (archive, holdings): (&Archive, &Holdings),
    env: &Env,
    ui: &mut Ui,
) -> anyhow::Result<Exit> {
    let title = agent::about(manifest.agent).title;
    if args.to_store.is_some() {
        let message =
            format!("the session lay in {title}'s database, and {title} decides into which store it takes it");
        return Err(Refusal::new(RefusalCode::Usage, message).hint("leave --to-store out").into());
    }
    let first = Return::from_manifest(manifest, archive, args, env)?;
    super::check(manifest, archive, env)?;
    if let Some(place) = first.standing(env) {
        if !first.is_same(&place) {
            let name = shell::selector(manifest.agent, &manifest.id);
            let message = format!(
                "{} session {} was not restored, because {} holds it with other rows",
                manifest.agent,
                manifest.id,
                place.path.display()
            );
            let archived = format!("rejoin show --archived {name}{}", Archive::option(archive.root(), env));
            let hint =
                format!("compare `rejoin show {name}` and `{archived} --state {}`", archive.state_name(manifest));
            return Err(Refusal::new(RefusalCode::InTheWay, message).hint(hint).into());
        }
        ui.print_note(&format!("{} session {} already exists with the same content.", manifest.agent, manifest.id));
        let nothing = Change::new("restore", Vec::new());
        change::print(&nothing, Some(&ChangeOutcome::default()), &args.change, args.format, env, ui)?;
        return Ok(Exit::Ok);
    }
    let mut returns = vec![first];
    for made in super::made_by(manifest, holdings) {
        match super::check(made, archive, env).and_then(|()| Return::from_manifest(made, archive, args, env)) {
            Ok(made) if made.standing(env).is_none() => returns.push(made),
            Ok(_) => {}
            Err(error) => ui.warn(&format!("a sub-agent is left out: {error}")),
        }
    }
    if let Some(database) = &returns[0].foreign {
        let taken = match &returns[0].agent_managed.import {
            Some(_) => format!(": {title} takes the session into its usual one"),
            None => String::new(),
        };
        ui.warn(&format!("the archive names {}, which is not a database of {title} here{taken}", database.display()));
    }
    if manifest.copies.len() > 1 {
        let count = manifest.copies.len();
        ui.warn(&format!("the archive has {count} copies of it, each from another database: the first is given back"));
    }
    let change = Change::new("restore", returns.iter().map(|one| one.item(env)).collect());
    let known = KnownDirs::new(Box::new(|| known_dirs(env)));
    let outcome = change::apply_with(&change, &args.change, env, |patience| {
        // The lock keeps other processes from archiving or removing it.
        let _state_dir = state_dir::open(env, "restore", patience)?;
        Ok(ChangeOutcome {
            done: returns.iter().map(|one| one.done(&known, env)).collect(),
            ..ChangeOutcome::default()
        })
    })?;
    if outcome.as_ref().is_some_and(|outcome| outcome.done.contains(&ItemResult::Done)) {
        ui.print_note(&format!(
            "{title} took it in. What its import leaves out, such as a list of things to do, stays in the archive."
        ));
    }
    let refused: Vec<Option<ItemResult>> = match outcome {
        Some(_) => Vec::new(),
        None => returns.iter().map(|one| one.obstacle(&known, env).map(ItemResult::Refused)).collect(),
    };
    let report = ChangeReport {
        refused: &refused,
        look: ReportExtras::from_args(&args.change),
        ..ChangeReport::new(&change, outcome.as_ref())
    };
    ui.answer(args.format, env, &report.answer(env))?;
    let is_refused = refused.iter().any(Option::is_some);
    Ok(if is_refused { Exit::Partial } else { change::exit(outcome.as_ref()) })
}

impl<'a> Return<'a> {
    fn from_manifest(
        manifest: &'a Manifest,
        archive: &'a Archive,
        args: &RestoreArgs,
        env: &Env,
    ) -> Result<Self, Refusal> {
        let unknown = || Refusal::new(RefusalCode::NoAgent, format!("no agent reads {}", manifest.agent));
        let agent = agent::by_kind(manifest.agent).ok_or_else(unknown)?;
        let agent_managed = agent.agent_managed(&manifest.place()).ok_or_else(unknown)?;
        let stores = agent.stores(env);
        let is_own = |store: &&Store| manifest.roots_here(env).contains(&store.root);
        let store = stores.iter().find(is_own).or_else(|| stores.iter().find(|store| store.is_default));
        let store = store.or(stores.first()).cloned().ok_or_else(unknown)?;
        let database = manifest.database_here(env);
        // A manifest can come from anywhere, so only the agent's own stores are accepted for its databases.
        let is_plain = !database.components().any(|part| part == Component::ParentDir);
        let is_own = is_plain && stores.iter().any(|store| database.starts_with(&store.root));
        let import = agent_managed.import.as_ref().filter(|_| is_own);
        let store = import.map_or(store.clone(), |import| import.store_of(&store, &database));
        let foreign = Some(database).filter(|_| !is_own);
        let dir = follow::dir_here(args, manifest, env);
        let is_dir_named = args.trust || follow::is_mapped(args, manifest, env);
        Ok(Self { manifest, archive, agent, agent_managed, store, foreign, dir, is_dir_named })
    }

    fn item(&self, env: &Env) -> ChangeItem {
        let Manifest { agent, id, number, archived_at, .. } = self.manifest;
        let about = ItemSubject::Session(*agent, id.as_str().into());
        // An item without steps has its reason in the fingerprint of the plan.
        let dir = self.dir.as_deref().map(|dir| format!(", for {}", dir.display())).unwrap_or_default();
        let reason = format!("state {number}, archived at {}{dir}", env.clock.local_time(*archived_at));
        ChangeItem::new(about, "archived", reason, Vec::new())
    }

    /// Returns the known reason why the agent cannot import the session, without trying.
    fn obstacle(&self, known: &KnownDirs<'_>, env: &Env) -> Option<String> {
        let title = agent::about(self.manifest.agent).title;
        let Some(import) = &self.agent_managed.import else { return Some(no_import(title)) };
        let program = import.words.first().copied().unwrap_or_default();
        if let Err(why) = self.dir_for_import(known) {
            return Some(why);
        }
        let is_there = matches!(env.find_program(program), ProgramSearch::Found(_));
        (!is_there).then(|| AgentCommandError::NoProgram(program.to_owned()).to_string())
    }

    /// Returns the directory for the agent's import, or the reason against it.
    fn dir_for_import(&self, known: &KnownDirs<'_>) -> Result<&Path, String> {
        let title = agent::about(self.manifest.agent).title;
        let Some(dir) = self.dir.as_deref() else { return Err("its directory is not known".to_owned()) };
        if reach::is_dir(dir) != Some(true) {
            return Err(format!("its directory {} does not exist (--map OLD=NEW names another)", dir.display()));
        }
        if !self.is_dir_named && !known.contains(dir) {
            return Err(format!(
                "only the archive names its directory {}, whose settings {title} would read (--trust starts it there)",
                dir.display()
            ));
        }
        Ok(dir)
    }

    /// Returns the place of the session if the agent already has it.
    fn standing(&self, env: &Env) -> Option<Located> {
        let stores = self.agent.stores(env).into_iter().map(Arc::new);
        stores.flat_map(|store| self.agent.locate(&store, Some(&self.manifest.id)).places).next()
    }

    /// Returns whether a place is in the database that the agent should import it into.
    fn is_meant(&self, place: &Located) -> bool {
        let import = self.agent_managed.import.as_ref();
        import.is_none_or(|import| import.database_of(&self.store) == *place.path)
    }

    fn is_same(&self, place: &Located) -> bool {
        self.manifest
            .rows()
            .is_some_and(|then| rows::are_same(place, self.agent, then, &self.archive.dir_of(self.manifest)))
    }

    fn done(&self, known: &KnownDirs<'_>, env: &Env) -> ItemResult {
        match self.give_back(known, env) {
            Ok(None) => ItemResult::Done,
            Ok(Some(words)) => ItemResult::Skipped(words),
            Err(error) => ItemResult::Failed(format!("{error:#}")),
        }
    }

    /// Lets the agent import the session. Returns instructions if the user has to do it.
    fn give_back(&self, known: &KnownDirs<'_>, env: &Env) -> anyhow::Result<Option<String>> {
        let title = agent::about(self.manifest.agent).title;
        let Some(import) = &self.agent_managed.import else { return self.as_script(env).map(Some) };
        let unpacked = UnpackedSession::unpack(self.manifest, self.archive, env)?;
        let place = self.manifest.copy_in(unpacked.root()).place;
        let mut contents = Vec::new();
        if (import.write)(&place, &mut contents).is_err() {
            // The export format version is unknown.
            return self.as_script(env).map(Some);
        }
        let words = |file: &Path| -> Vec<String> {
            let file = file.to_string_lossy().into_owned();
            import.words.iter().map(|word| (*word).to_owned()).chain([file]).collect()
        };
        let left = |why: String| -> anyhow::Result<Option<String>> {
            let file = self.leave("json", &contents, env)?;
            let dir = self.dir.as_deref().map_or_else(|| "the directory that it is to have".to_owned(), in_a_shell);
            Ok(Some(format!("{why}; in {dir}, run `{}`", agent::typed(&words(&file), &self.store))))
        };
        let dir = match self.dir_for_import(known) {
            Ok(dir) => dir,
            Err(why) => return left(why),
        };
        let file = unpacked.root().join("session.json");
        disk::replace(&disk::with_faults_of(env), &file, &contents)?;
        let command = AgentCommand { argv: &words(&file), dir, store: &self.store };
        if let Err(why) = command.run(env) {
            return left(why.to_string());
        }
        // Another database may have a session with the same id.
        match self.standing(env).filter(|place| self.is_meant(place)) {
            None => left(format!("{title} says that it took it in, but does not have it")),
            Some(place) => match self.missing(place, env) {
                Some(why) => Err(anyhow::anyhow!("{title} has it now, but {why}")),
                None => Ok(None),
            },
        }
    }

    /// Describes the parts of the archived session that the agent lacks, as far as counts show.
    fn missing(&self, place: Located, env: &Env) -> Option<String> {
        let scope = ScanScope { counts: true, ..ScanScope::GLANCE };
        let scan = Places { places: vec![place], ..Places::default() }.read_all(env, scope);
        let facts = &self.manifest.facts;
        let counts = scan.sessions.first().map(|session| (session.copy().prompts, session.copy().replies));
        let Some((prompts, replies)) = counts else { return Some("it cannot be read".to_owned()) };
        let then = (facts.prompts, facts.replies);
        (then.0.is_some() && then != (prompts, replies)).then(|| {
            let words = |prompts: Option<u64>, replies: Option<u64>| {
                format!("{} prompts and {} replies", prompts.unwrap_or_default(), replies.unwrap_or_default())
            };
            format!("with {} instead of {}", words(prompts, replies), words(then.0, then.1))
        })
    }

    /// Writes the rows as statements for SQLite's own shell.
    fn as_script(&self, env: &Env) -> anyhow::Result<String> {
        let Manifest { agent: kind, .. } = self.manifest;
        let title = agent::about(*kind).title;
        let content = self.manifest.rows().ok_or_else(|| anyhow::anyhow!("the archive has no rows of it"))?;
        let mut contents = Vec::new();
        script(rows::lines(content, &self.archive.dir_of(self.manifest)), &mut contents)?;
        let file = self.leave("sql", &contents, env)?;
        let why = no_import(title);
        let file = in_a_shell(&file);
        Ok(match &self.foreign {
            // Do not offer a command that writes to a path which only the archive names.
            Some(_) => format!("{why}; the statements for its database are in {file}"),
            None => {
                let database = in_a_shell(&self.manifest.database_here(env));
                format!("{why}; with {title} ended, run `sqlite3 {database} <{file}`")
            }
        })
    }

    /// Writes a file for the user.
    fn leave(&self, ending: &str, contents: &[u8], env: &Env) -> Result<PathBuf, PathError> {
        let dir = env.data_dir().join("restored");
        let disk = disk::with_faults_of(env);
        disk::make_dirs(&disk, &dir, Access::Usual).map_err(|error| PathError::new("create", &dir, error))?;
        // The manifest may name any id.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let id: String = self.manifest.id.chars().map(|c| if is_plain(c) { c } else { '_' }).take(MAX_NAME).collect();
        let path = dir.join(format!("{}-{id}.{ending}", self.manifest.agent));
        disk::save(&disk, &path, Access::Private, contents)?;
        Ok(path)
    }
}

/// The start directories of all sessions on this machine, read on first use.
type KnownDirs<'a> = LazyCell<BTreeSet<PathBuf>, Box<dyn FnOnce() -> BTreeSet<PathBuf> + 'a>>;

fn known_dirs(env: &Env) -> BTreeSet<PathBuf> {
    let scope = ScanScope { sizes: false, ..ScanScope::GLANCE };
    let scan = scan::locate(env, &[]).read_all(env, scope);
    scan.sessions.iter().filter_map(|session| session.launch_dir().map(Path::to_owned)).collect()
}

fn no_import(title: &str) -> String {
    format!("{title} takes no session in by itself, and rejoin writes into no database of another program")
}

fn in_a_shell(path: &Path) -> String {
    shell::word(&path.to_string_lossy()).into_owned()
}

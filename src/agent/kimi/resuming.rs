//! The command that resumes a session of Kimi CLI, and its checks: its program has the same name as that of Kimi Code,
//! and starts a new session for an id that it does not find.

use super::reader::{KimiFiles, is_file, listed_dirs};
use super::{Kimi, hash, remote_kaos};
use crate::agent::as_prompt_option;
use crate::agent::installed::Package;
use crate::agent::kimicode::{self, OLDER as PACKAGE, PACKAGE as SUCCESSOR};
use crate::agent::prelude::*;
use crate::format::shell;
use crate::system::env::ProgramSearch;

impl Resuming for Kimi {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        let id = &copy.place.id;
        if id.starts_with('-') || id.chars().any(char::is_control) {
            return Err("its id could be taken for an option".into());
        }
        if let Some(kaos) = copy.place.project.as_deref().and_then(remote_kaos) {
            return Err(format!("it ran on another machine, which Kimi CLI reached by {kaos}").into());
        }
        let words: &[&str] = if prompt.is_some() { &["kimi", "--print", "--session"] } else { &["kimi", "--session"] };
        Ok(Command::new(&[words, &[id.as_str()]].concat(), as_prompt_option(prompt)))
    }

    fn warning(&self, copy: &SessionCopy, env: &Env) -> Option<String> {
        imports_in_words(copy, env)
    }

    fn check_program(&self, copy: &SessionCopy, env: &Env) -> Result<Option<String>, Unable> {
        if env.find_program("kimi") == ProgramSearch::Missing {
            return Ok(None);
        }
        // The behaviour of Kimi CLI 1.52 is known from its code.
        let (why, install) = match Package::find_on_path("kimi", env) {
            Some(package) if package.has_name(SUCCESSOR.0, SUCCESSOR.1) => {
                let why = format!(
                    "`kimi` is Kimi Code {}, which continues sessions of Kimi CLI only after it has imported them",
                    package.version
                );
                (why, String::new())
            }
            Some(package) if package.has_name(PACKAGE.0, PACKAGE.1) => match package.is_at_least([1, 52]) {
                Some(false) => return Ok(None),
                Some(true) => {
                    let version = package.version;
                    let why =
                        format!("Kimi CLI {version} only says that it is no longer maintained, and ends with status 0");
                    (why, format!("install Kimi Code with `npm install --global {}`, then ", SUCCESSOR.1))
                }
                None => return Ok(Some(unsure())),
            },
            _ => return Ok(Some(unsure())),
        };
        let hint = match &*kimicode::imports_of(&copy.place, env) {
            [] => {
                let mut set = copy.place.store.set.clone();
                if env.foreign_home {
                    set.insert("HOME".into(), env.home.clone().into_os_string());
                }
                let import = ["kimi", "migrate", "--run"].map(str::to_owned);
                let import = shell::command(&[], &set, &import).unwrap_or_default();
                format!("{install}import it with `{import}`; `rejoin list --agent kimicode` shows it after that")
            }
            [import, ..] => format!("{install}resume the imported session with `{}`", resume_import(import)),
        };
        Err(Unable::from(why).hint(hint))
    }

    fn check_start(&self, copy: &SessionCopy, dir: &Path) -> Result<(), Unable> {
        let project = copy.place.project.as_deref().unwrap_or_default();
        let dir = reach::canonicalize(dir).map_err(|error| crate::error::reason(&error))?;
        if hash(dir.as_os_str().as_encoded_bytes()) != project {
            return Err(format!("Kimi CLI would start a new session of the same id in {}", dir.display()).into());
        }
        let files = KimiFiles::in_session_dir(&copy.place);
        if !is_file(&files.context) {
            return Err("its context.jsonl is gone, so Kimi CLI would start a new session of the same id".into());
        }
        let dirs = listed_dirs(&copy.place.store.root).map_err(|problem| {
            format!("{} cannot be used ({}), so Kimi CLI may not find it", problem.path.display(), problem.reason)
        })?;
        if !dirs.iter().any(|listed| listed.kaos == "local" && Path::new(&listed.path) == dir) {
            return Err(format!(
                "kimi.json does not list {}, so Kimi CLI would empty the session and begin anew; start and leave `kimi` \
                 there once, which lists it",
                dir.display()
            )
            .into());
        }
        Ok(())
    }
}

/// Describes the sessions that Kimi Code imported from a copy, which are independent of it.
pub(super) fn imports_in_words(copy: &SessionCopy, env: &Env) -> Option<String> {
    let imports = kimicode::imports_of(&copy.place, env);
    let first = imports.first()?;
    Some(format!("Kimi Code has imported it as {}; `{}` continues that one", first.id, resume_import(first)))
}

fn resume_import(import: &Located) -> String {
    format!("rejoin resume {}", shell::selector(AgentKind::KimiCode, &import.id))
}

/// Returns the message that the files of the installed program do not show its package.
fn unsure() -> String {
    "`kimi` may be Kimi Code, or Kimi CLI 1.52 or later, which cannot resume it; its files do not say which program it is".to_owned()
}

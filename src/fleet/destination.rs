//! Resolves hosts: destinations for ssh, groups of them, and this machine.

use std::collections::BTreeMap;

pub(crate) use crate::config::is_destination;
use crate::error::{Refusal, RefusalCode};

/// The hosts of all groups together.
const ALL: &str = "all";
/// The name of this machine, which needs no ssh.
const HERE: &str = ".";

/// A host to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Its name for users.
    pub name: String,
    /// The destination for ssh; `None` for this machine.
    pub destination: Option<String>,
}

impl Host {
    /// Returns this machine, under a name that is not a valid host, so that no other machine is taken for it.
    fn here() -> Self {
        Self { name: HERE.to_owned(), destination: None }
    }

    /// Parses a destination of ssh: `host`, `user@host`, an alias of the user's configuration or `ssh://…`.
    pub(crate) fn there(word: &str) -> Result<Self, Refusal> {
        if !is_destination(word) {
            return Err(Refusal::new(RefusalCode::Usage, format!("{word:?} is not a host that ssh could connect to"))
                .hint("name a host as `ssh` takes it, such as `box`, `ana@box` or `ssh://ana@box:2222`"));
        }
        Ok(Self { name: word.to_owned(), destination: Some(word.to_owned()) })
    }
}

/// Resolves words to hosts, each once, in the given order.
pub(crate) fn resolve(words: &[String], groups: &BTreeMap<String, Vec<String>>) -> Result<Vec<Host>, Refusal> {
    let mut hosts: Vec<Host> = Vec::new();
    for word in words {
        let own = [word.clone()];
        let members: Vec<&String> = match groups.get(word) {
            Some(members) => members.iter().collect(),
            None if word == ALL && groups.is_empty() => return Err(no_groups()),
            None if word == ALL => groups.values().flatten().collect(),
            None => own.iter().collect(),
        };
        for member in members {
            let host = if member == HERE { Host::here() } else { Host::there(member)? };
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
    }
    if hosts.is_empty() {
        let message = format!("there are no hosts in {}", words.join(", "));
        return Err(Refusal::new(RefusalCode::Usage, message).hint("name some in the config file"));
    }
    Ok(hosts)
}

fn no_groups() -> Refusal {
    Refusal::new(RefusalCode::Usage, "the config file names no hosts, so `all` stands for none")
        .hint("name them in the config file, as `rejoin help config` says, or here: --host NAME")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(words: &[&str]) -> Result<Vec<String>, String> {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let groups =
            BTreeMap::from([("lab".to_owned(), own(&["one", "ana@two"])), ("home".to_owned(), own(&[".", "one"]))]);
        let hosts = resolve(&own(words), &groups).map_err(|refusal| refusal.to_string())?;
        Ok(hosts.into_iter().map(|host| host.name).collect())
    }

    #[test]
    fn host_group_resolves_to_its_hosts() {
        assert_eq!(resolved(&["box"]), Ok(vec!["box".to_owned()]));
        assert_eq!(resolved(&["lab", "one"]), Ok(vec!["one".to_owned(), "ana@two".to_owned()]));
        assert_eq!(resolved(&["all"]), Ok([".", "one", "ana@two"].map(str::to_owned).to_vec()));
        assert_eq!(resolved(&["."]), Ok(vec![".".to_owned()]));
        let empty = BTreeMap::from([("none".to_owned(), Vec::new())]);
        assert!(resolve(&["none".to_owned()], &empty).is_err(), "an empty group is no success");
        let none = resolve(&["all".to_owned()], &BTreeMap::new());
        assert!(none.expect_err("a refusal").to_string().contains("names no hosts"));
    }

    #[test]
    fn host_name_refuses_options_and_shell_code() {
        for word in ["-oProxyCommand=id", "a b", "a;b", "$(id)", "a'b", "", "../x", "a\nb", "ä", "x/y", "a`id`"] {
            assert!(Host::there(word).is_err(), "{word:?}");
        }
        for word in ["box", "ana@box.example", "[::1]", "ssh://ana@box:2222", "fe80::1%eth0", "10.0.0.1"] {
            assert!(Host::there(word).is_ok(), "{word:?}");
        }
    }
}

//! The name of an archived state of a session, the value of `--state`.

use std::fmt;
use std::str::FromStr;

/// `N`, or `N@MACHINE` for a state that another machine archived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateName {
    /// Number of the state, counted from 1.
    pub number: u64,
    /// Name of the machine's directory in the archive.
    pub machine: Option<String>,
}

impl FromStr for StateName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, machine) = text.split_once('@').map_or((text, None), |(number, name)| (number, Some(name)));
        match (number.parse(), machine) {
            (Ok(number), machine) if machine != Some("") => Ok(Self { number, machine: machine.map(str::to_owned) }),
            _ => Err("use a number, or N@MACHINE as `rejoin show --archived` prints it".to_owned()),
        }
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.machine {
            Some(machine) => write!(f, "{}@{machine}", self.number),
            None => write!(f, "{}", self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_names_round_trip() {
        for text in ["4", "4@laptop-1a2b3c4d"] {
            assert_eq!(text.parse::<StateName>().expect("a name").to_string(), text);
        }
        for text in ["", "x", "@laptop", "-1", "4@"] {
            assert!(text.parse::<StateName>().is_err(), "{text}");
        }
    }
}

//! The certificates of the environment, and why the certificate of a server is not trusted.

use protocol::{Failure, FailureClass};
use reqwest::Certificate;

/// The variables that name files of certificates. The first replaces the certificates of the system,
/// the second adds to them.
const FILES: [&str; 2] = ["SSL_CERT_FILE", EXTRA];
const EXTRA: &str = "NODE_EXTRA_CA_CERTS";

/// Returns the certificates that are trusted besides those of the system or of `SSL_CERT_FILE`.
pub(crate) fn extra_certificates() -> Vec<Certificate> {
    // A file that cannot be used is reported when a certificate is not trusted.
    variable(EXTRA).and_then(|file| certificates(&file).ok()).unwrap_or_default()
}

/// Returns what is wrong with a certificate, by the text of an error.
pub(crate) fn certificate_fault(error: &str) -> Failure {
    fault_in(error, variable)
}

fn fault_in(error: &str, environment: impl Fn(&str) -> Option<String>) -> Failure {
    let says = |words: &[&str]| words.iter().any(|word| error.contains(word));
    let fault = if says(&["UnknownIssuer"]) {
        return unknown_authority(environment);
    } else if says(&["CaUsedAsEndEntity"]) {
        // As `openssl req -x509` makes them; naming its file would not help.
        let what = "its certificate is that of an authority, which no server can use";
        return Failure::new(FailureClass::Invalid, what).advise(format!(
            "try: make it with basicConstraints=CA:FALSE, then {}",
            name_it("that certificate")
        ));
    } else if says(&["Expired", "expired"]) {
        "its certificate has expired"
    } else if says(&["NotValidYet", "not valid yet"]) {
        "its certificate is not valid yet"
    } else if says(&["NotValidForName", "not valid for name"]) {
        "its certificate is that of another name"
    } else {
        "its certificate is not valid"
    };
    Failure::new(FailureClass::Invalid, fault)
}

/// Returns how a certificate becomes one that is trusted here.
fn name_it(certificate: &str) -> String {
    let [replacing, adding] = FILES;
    format!(
        "{adding}=FILE, with {certificate} (or {replacing}=FILE, in place of those of the system)"
    )
}

/// Returns the fault of a certificate that no known authority has signed, or that its own server has
/// signed, with the variables of `environment`.
fn unknown_authority(environment: impl Fn(&str) -> Option<String>) -> Failure {
    let what = "its certificate is self-signed, or from an authority that is not known here";
    let set: Vec<_> =
        FILES.into_iter().filter_map(|name| Some((name, environment(name)?))).collect();
    let unusable =
        set.iter().find_map(|(name, file)| Some((name, file, certificates(file).err()?)));
    let fault = |what: String| Failure::new(FailureClass::Invalid, what);
    match (unusable, set.first()) {
        (Some((name, file, why)), _) => {
            fault(format!("{what}, and {name}={file} has no effect: {why}"))
        }
        (None, Some((name, file))) => fault(format!("{what}, and not among those of {name}"))
            .advise(format!("try: add its certificate to {file}")),
        (None, None) => fault(what.to_owned())
            .advise(format!("try: {}", name_it("its certificate or that of the authority"))),
    }
}

/// Returns the certificates in a file of PEM. The error is a fragment that says why there are none.
fn certificates(file: &str) -> Result<Vec<Certificate>, String> {
    let text = std::fs::read(file).map_err(|error| format!("it cannot be read: {error}"))?;
    match Certificate::from_pem_bundle(&text) {
        Ok(certificates) if certificates.is_empty() => Err("it has no certificate".to_owned()),
        Ok(certificates) => Ok(certificates),
        Err(_malformed) => Err("it is not PEM".to_owned()),
    }
}

/// Returns the value of an environment variable that is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_certificate_is_said_in_words() {
        for (error, expected) in [
            ("invalid peer certificate: UnknownIssuer", "an authority that is not known here"),
            ("invalid peer certificate: certificate expired: verification time 9", "has expired"),
            ("invalid peer certificate: NotValidYet", "is not valid yet"),
            (
                "invalid peer certificate: certificate not valid for name \"a\"",
                "that of another name",
            ),
            ("invalid peer certificate: Other(OtherError(CaUsedAsEndEntity))", "CA:FALSE"),
            ("invalid peer certificate: BadSignature", "is not valid"),
        ] {
            let fault = fault_in(error, |_unset| None);
            assert!(fault.message.contains(expected), "{error}");
            // Another file of certificates helps only against an unknown authority.
            let can_help =
                ["UnknownIssuer", "CaUsedAsEndEntity"].iter().any(|it| error.contains(it));
            let names_files =
                FILES.iter().all(|it| fault.advice.as_ref().is_some_and(|hint| hint.contains(it)));
            assert_eq!((fault.advice.is_some(), names_files), (can_help, can_help), "{error}");
        }
    }

    #[test]
    fn the_hint_of_an_unknown_authority_is_one_that_can_help() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let (good, empty) = (file("good.pem", pem), file("empty.pem", "no certificate"));
        let missing = folder.path().join("missing").display().to_string();
        for (set, expected) in [
            (
                &[][..],
                format!("; try: {EXTRA}=FILE, with its certificate or that of the authority"),
            ),
            (
                &[(FILES[0], &good)],
                format!("among those of SSL_CERT_FILE; try: add its certificate to {good}"),
            ),
            (
                &[(EXTRA, &good)],
                format!("among those of {EXTRA}; try: add its certificate to {good}"),
            ),
            (
                &[(FILES[0], &good), (EXTRA, &empty)],
                format!("{EXTRA}={empty} has no effect: it has no cert"),
            ),
            (
                &[(FILES[0], &missing)],
                format!("={missing} has no effect: it cannot be read: No such"),
            ),
        ] {
            let environment = |name: &str| {
                set.iter().find(|(set, _)| *set == name).map(|(_, file)| (*file).clone())
            };
            let said = unknown_authority(environment).message;
            assert!(said.contains(&expected), "{set:?}: {said}");
        }
    }
}

//! Servers with certificates: one of an unknown authority is not trusted until `SSL_CERT_FILE` or
//! `NODE_EXTRA_CA_CERTS` names it, and requests to this machine pass no proxy.

use serde_json::json;
use tests::model::{Answer, Asked, LoopbackModel, marker};
use tests::tls::{https_to, write_authority};

use crate::binary::sandbox;

/// The address of a proxy that is not there.
const DEAD: &str = "http://127.0.0.1:1";

#[test]
fn a_certificate_of_an_unknown_authority_is_one_clear_error_until_the_authority_is_named() {
    let place = sandbox();
    let repository = place.repository();
    let model = LoopbackModel::start();
    let address = model.messages_url().trim_start_matches("http://").parse();
    let port = https_to(address.expect("it is an address")).address().port();
    let authority = place.folder().join("authority.pem");
    write_authority(&authority);
    for task in ["t1", "t2"] {
        model.talk(task, |_: &Asked| Answer::yields(&json!("done")));
    }
    let run_task = |task: &str, host: &str| {
        let run = place.run_in(&repository).words("--model loopback/loop --base-url");
        let run = run.arg(format!("https://{host}:{port}/v1"));
        let run = run.arg(format!("Do it. {}", marker(task)));
        // No proxy is there: a request that went through it would fail.
        let run = run.env("HTTPS_PROXY", DEAD).env("ALL_PROXY", DEAD);
        run.env("LOOPBACK_API_KEY", "canary-key")
    };
    let run = |host: &str| run_task("t1", host);
    let refused = run("127.0.0.1").run().expect_code(1);
    assert!(!refused.stderr.contains("canary-key"), "{refused}");
    assert_eq!(refused.stderr.matches("error:").count(), 1, "{refused}");
    refused.expect_refusal(&[
        "cannot be trusted: its certificate is self-signed, or from an authority that is not known here",
        "(or SSL_CERT_FILE=FILE",
    ]);
    assert_eq!(model.requests(), 0);
    // What is sent there comes to this machine, under a name that the certificate does not have.
    let other = run("0.0.0.0").env("SSL_CERT_FILE", &authority).run();
    other.expect_code(1).expect_refusal(&["its certificate is that of another name"]);
    for (task, variable) in [("t1", "SSL_CERT_FILE"), ("t2", "NODE_EXTRA_CA_CERTS")] {
        let finished = run_task(task, "127.0.0.1").env(variable, &authority).run().expect_code(0);
        assert_eq!(model.take_violations(), Vec::<String>::new(), "{variable}: {finished}");
    }
    assert_eq!(model.asked("t1")[0].key.as_deref(), Some("canary-key"));
    let proxied = run("models.invalid").run().expect_code(1);
    proxied.expect_refusal(&[
        &format!("the proxy {DEAD} in HTTPS_PROXY cannot be reached"),
        "try: NO_PROXY=models.invalid, or unset HTTPS_PROXY",
    ]);
}

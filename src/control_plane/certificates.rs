//! Keys and certificates of one control plane, made anew each time.
//!
//! In: names. Out: PEM texts. Never here: files. The authority's key never leaves memory.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// Signs everything else; server and clients trust it.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// PEM.
    pub certificate: String,
}

/// A certificate and its key, both PEM (the key as PKCS #8).
pub(super) struct Identity {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// A new key and a certificate signed with it.
    pub(super) fn new() -> Result<Self, rcgen::Error> {
        let mut params = params("kubewright-local-ca", None, &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), certificate })
    }

    /// A server that is reached by these names and addresses.
    pub(super) fn server(&self, names: &[&str]) -> Result<Identity, rcgen::Error> {
        let mut params = params("kube-apiserver", None, names)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A client: Kubernetes takes the common name as the user and the organisation as a group.
    pub(super) fn client(&self, user: &str, group: Option<&str>) -> Result<Identity, rcgen::Error> {
        let mut params = params(user, group, &[])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Identity, rcgen::Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }
}

/// Private and public key (PEM) for service account tokens: ECDSA, which the API server takes as well as RSA.
pub(super) fn service_account_keys() -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

/// Valid for as long as rcgen likes (it has wide defaults): the keys live as long as a private folder.
fn params(
    name: &str,
    organisation: Option<&str>,
    alternative_names: &[&str],
) -> Result<CertificateParams, rcgen::Error> {
    let names: Vec<_> = alternative_names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(organisation) = organisation {
        params.distinguished_name.push(DnType::OrganizationName, organisation);
    }
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD, Engine};

    fn der(pem: &str) -> Vec<u8> {
        let text: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        BASE64_STANDARD.decode(text).expect("base64 between the lines")
    }

    fn has(pem: &str, part: &[u8]) -> bool {
        der(pem).windows(part.len()).any(|window| window == part)
    }

    #[test]
    fn a_client_certificate_says_user_group_and_issuer() {
        let authority = Authority::new().expect("an authority");
        let identity = authority.client("admin", Some("system:masters")).expect("a client");
        assert!(has(&identity.certificate, b"admin"));
        assert!(has(&identity.certificate, b"system:masters"));
        assert!(has(&identity.certificate, b"kubewright-local-ca"));
        let nobody = authority.client("admin", None).expect("a client");
        assert!(!has(&nobody.certificate, b"system:masters"));
        assert_ne!(identity.key, nobody.key);
    }

    #[test]
    fn an_address_becomes_an_address_and_not_a_name() {
        let authority = Authority::new().expect("an authority");
        let server = authority.server(&["127.0.0.1", "localhost"]).expect("a server");
        // Subject alternative names, RFC 5280 section 4.2.1.6: [7] is an address, [2] a DNS name.
        assert!(has(&server.certificate, &[0x87, 4, 127, 0, 0, 1]));
        assert!(has(&server.certificate, b"\x82\x09localhost"));
    }

    #[test]
    fn keys_have_the_forms_that_kubernetes_reads() {
        let (private, public) = service_account_keys().expect("keys");
        assert!(private.starts_with("-----BEGIN PRIVATE KEY-----"), "PKCS #8");
        assert!(public.starts_with("-----BEGIN PUBLIC KEY-----"), "PKIX");
    }
}

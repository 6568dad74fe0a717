"""Collections of requests for Postman and Bruno, built from the OpenAPI document and the sandbox's scenarios."""

<?php
require "/usr/share/php/GuzzleHttp/autoload.php";
spl_autoload_register(function ($name) {
    require getenv("CLIENT") . "/lib/" . str_replace(["OpenAPI\\Client\\", "\\"], ["", "/"], $name) . ".php";
});
$config = (new OpenAPI\Client\Configuration())->setHost(getenv("BASE_URL"))->setApiKey("X-API-Key", getenv("API_KEY"));
echo count((new OpenAPI\Client\Api\TemplatesApi(null, $config))->listTemplates()->getTemplates()), "\n";

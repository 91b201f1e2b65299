<?php
// Calls of each operation by the generated client: prints what each answer says.
require "/usr/share/php/GuzzleHttp/autoload.php";
spl_autoload_register(function ($name) {
    require getenv("CLIENT") . "/lib/" . str_replace(["OpenAPI\\Client\\", "\\"], ["", "/"], $name) . ".php";
});
use OpenAPI\Client\Api;
use OpenAPI\Client\Model;
$config = (new OpenAPI\Client\Configuration())->setHost(getenv("BASE_URL"))->setApiKey("X-API-Key", getenv("API_KEY"));
$say = function (string $operation, $value = "") { echo trim("$operation $value"), "\n"; };
$each = fn ($name) => explode(" ", getenv($name));
$templates = new Api\TemplatesApi(null, $config);
$say("listTemplates", count($templates->listTemplates()->getTemplates()));
$say("readTemplate", $templates->readTemplate(getenv("TEMPLATE"))->getId());
$audiences = new Api\AudiencesApi(null, $config);
$say("readFilterSchema", count($audiences->readFilterSchema()->getFields()));
$say("previewAudience", $audiences->previewAudience()->getEstimatedCount());
$campaigns = new Api\CampaignsApi(null, $config);
$draft = new Model\CreateCampaignRequest(["name" => "Generated", "platform" => "chatapp", "template_id" => getenv("TEMPLATE"), "cadence" => 30]);
$created = $campaigns->createCampaign($draft);
$say("createCampaign", $created->getStatus());
$say("startCampaign", $campaigns->startCampaign($created->getCampaignId(), new Model\StartCampaignRequest(["common_variables" => ["var3" => "31/03"]]))->getStatus());
$campaigns->cancelCampaign($created->getCampaignId());
$say("cancelCampaign");
$say("listCampaigns", count($campaigns->listCampaigns()->getCampaigns()));
foreach ($each("CAMPAIGNS") as $id) {
    $say("readCampaign", $campaigns->readCampaign($id)->getStatus());
    foreach ($campaigns->readCampaign($id)->getExecutions() as $execution) {
        $say("readCampaign.execution", $execution->getStatus());
        $say("readExecution", $campaigns->readExecution($id, $execution->getId())->getStatus());
    }
}
$sessions = new Api\ConnectionSessionsApi(null, $config);
$say("createConnectionSession", $sessions->createConnectionSession()->getStatus());
foreach ($each("SESSIONS") as $id) {
    $say("readConnectionSession", $sessions->readConnectionSession($id)->getStatus());
}
$say("readEntrypoint", (new Api\EntrypointsApi(null, $config))->readEntrypoint(getenv("ENTRYPOINT"))->getEntrypoint()->getId());
$messaging = new Api\MessagingApi(null, $config);
$say("listMessages", count($messaging->listMessages(getenv("CHAT"), null, 5)->getRecords()));
try {
    $messaging->uploadMedia([new SplFileObject(getenv("FILE"))]);
    $say("uploadMedia", "stored");
} catch (OpenAPI\Client\ApiException $refusal) {
    $say("uploadMedia", $refusal->getCode());
}
$say("readFormPolicy", count((new Api\FormsApi(null, $config))->readFormPolicy(getenv("FORM"))->getIframeEmbedAllowedOrigins()));

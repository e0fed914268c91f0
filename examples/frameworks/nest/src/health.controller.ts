import { Controller, Get, ServiceUnavailableException } from "@nestjs/common";
import { AmendsModule } from "./amends.module.ts";

@Controller("health")
export class HealthController {
  constructor(private readonly module: AmendsModule) {}

  @Get()
  async check(): Promise<{ ready: true }> {
    if (!(await this.module.isReady())) throw new ServiceUnavailableException({ ready: false });
    return { ready: true };
  }
}
